// Rows are methods: gather and broadcast, direct sends, a ring of nodes where the machine has nodes, and the
// plan. NIC seconds (bytes over each NIC, over its rate, summed) are what a reshard takes from other traffic.
#include <fmt/format.h>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/reshard.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/words.h"

namespace chorale {
namespace {

// The bound is a row among the methods, so that its time is read in the same column.
std::string in_words(const Resharding& answer) {
  TableRows rows = {
      {"how", "time", "x bound", answer.of_nodes ? "NIC seconds" : "link seconds", "bytes over links"}};
  const auto row = [&](const std::string& name, double us, const ReshardMethod* method) {
    rows.push_back({name, format_us(us),
                    answer.bound_us.value_or(0) > 0 ? fmt::format("{:.3f}", us / *answer.bound_us) : "-",
                    method != nullptr ? fmt::format("{:.4g}", method->link_seconds) : "-",
                    method != nullptr ? format_bytes(method->bytes) : "-"});
  };
  for (const ReshardMethod& each : answer.methods) row(each.name, each.us, &each);
  if (answer.bound_us)
    row("bound", *answer.bound_us, nullptr);
  else
    rows.push_back({"bound", "not known", "-", "-", "-"});
  return fmt::format("{}: {} to {}, {} that ranks lack, in {} of {} with the same holders and targets\n",
                     answer.question.name, counted(std::ssize(holders_of(answer.question)), "rank"),
                     receivers_of(answer.question).size(), format_bytes(answer.demand.bytes),
                     counted(std::ssize(answer.demand.collective.chunks), "chunk"),
                     counted(std::ssize(answer.demand.parts), "part")) +
         table(rows, "lrrrr") +
         (answer.plan == "packing" ? "" : fmt::format("this plan is the fastest method: {}\n", answer.plan));
}

}  // namespace

Outcome perform(const ReshardCommand& command, Supervisor& supervisor) {
  const ReshardQuestion question = reshard_from_json(read_file(command.file), command.file);
  const Topology topology = machine(command.machine, command.changes);
  FrontierOptions options{.time_limit = command.search_time};
  options.synthesis.limits.stop = supervisor.stop();
  // Hosts decide which links are NICs; a machine without hosts has link seconds instead.
  const Resharding answer = reshard(topology, question, hosts_of(command.machine), options);
  supervisor.take_floor();
  // Without a schedule there are still the bound and the times of the other methods. A search that ended by
  // itself was not cut, even if a limit came since.
  const Stopped stopped = supervisor.stopped();
  const Result& found = answer.result;
  const bool cut = stopped != Stopped::No && !found.complete && found.stopped != Stopped::ChunkCounts;
  Outcome outcome{.exit_code = cut                            ? exit_code_of(stopped)
                               : answer.result.points.empty() ? kUndecided
                                                              : kFound,
                  .text = in_words(answer)};
  if (!command.json.empty()) deliver(command.json, to_json(answer), outcome);
  if (!command.result.empty()) deliver(command.result, to_json(answer.result), outcome);
  if (command.emit.empty() || answer.result.points.empty()) return outcome;
  deliver(command.emit, reshard_script(answer), outcome);
  return outcome;
}

}  // namespace chorale
