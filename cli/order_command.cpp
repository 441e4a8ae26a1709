// The order is printed as runs of nodes on one switch, then each communication with the time that the rates
// of nodes alone allow, then other orders (as given, alphabetical, by switch) for comparison.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/job_text.h"
#include "cli/layout.h"
#include "cli/parse.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/words.h"
#include "jobs/order.h"

namespace chorale {
namespace {

// "2,4": of leaf switches, then of the tier above; the last holds for all further ones.
std::vector<double> tapers_of(const std::string& text) {
  std::vector<double> tapers;
  for (const std::string& part : split(text, ',')) {
    tapers.push_back(parse_positive("--taper", part));
    if (tapers.back() < 1 || tapers.back() > 1e6)
      throw InputError("--taper", "'" + part.substr(0, 60) + "' is not between 1 and 1000000",
                       "use ratios, such as 2,4");
  }
  return tapers;
}

// A job in which nothing crosses a switch takes no time in any order.
std::string share_of(double us, double of) {
  return of > 0 ? fmt::format("{:.2f}x", us / of) : "1.00x";
}

// Nodes that follow each other on one switch are one row.
std::string nodes_table(const NodeOrder& order) {
  TableRows rows = {{"nodes", "switch", "hosts"}};
  for (std::size_t from = 0; from < order.hosts.size();) {
    std::size_t to = from;
    std::vector<std::string> hosts;
    for (; to < order.hosts.size() && order.switches[to] == order.switches[from]; ++to)
      hosts.push_back(order.hosts[to]);
    rows.push_back({to - from == 1 ? std::to_string(from) : fmt::format("{}-{}", from, to - 1),
                    order.switches[from], joined(hosts, " ")});
    from = to;
  }
  return table(rows, "rll");
}

// Not proven means that the bound is lower: how much lower is the most that another order could gain.
std::string in_words(const NodeOrder& order) {
  TableRows times = {{"communication", "time", "least by nodes", "busiest"}};
  for (const OrderedCommunication& each : order.communications)
    times.push_back({each.name, format_us(each.us), format_us(each.least_us), each.busiest});
  TableRows orders = {{"order", "time", "", "between switches"}};
  const auto row = [&](const std::string& name, const OrderTime& time) {
    orders.push_back({name, format_us(time.us), share_of(time.us, order.time.us), format_bytes(time.bytes)});
  };
  // Ratios of all orders are to this one, which is 1.00x.
  row("this one", order.time);
  for (const auto& [name, time] : order.others) row(name, time);
  const std::string proof =
      order.proven ? fmt::format("no order takes less time ({})\n", order.proof)
                   : fmt::format("not proven: no order takes less than {}, {:.1f} % less\n",
                                 format_us(order.bound_us), 100 * (1 - order.bound_us / order.time.us));
  return fmt::format("{} of {}: {} per iteration over the busiest links\n{}\n",
                     counted(std::ssize(order.hosts), "node"), counted(order.node_ranks, "rank"),
                     format_us(order.time.us), proof) +
         nodes_table(order) + "\n" + table(times, "lrrl") + "\n" + table(orders, "lrrr");
}

}  // namespace

Outcome perform(const OrderCommand& command, Supervisor&) {
  OrderQuestion question = command.question;
  question.job = job_of(command);
  question.rates.tapers = tapers_of(command.tapers);
  const NodeOrder answer = order(allocation(command.topology, command.hosts), question);
  Outcome outcome{.text = in_words(answer)};
  if (!command.json.empty()) deliver(command.json, to_json(answer), outcome);
  if (command.emit.empty()) return outcome;
  deliver(command.emit, emit_order(answer), outcome);
  return outcome;
}

}  // namespace chorale
