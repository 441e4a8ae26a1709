// Jobs are read as those of 'place'; the answer is a report (jobs/order.h).
#include "cli/inputs.h"
#include "cli/job_text.h"
#include "cli/option_kinds.h"
#include "cli/parse.h"
#include "cli/report.h"
#include "ir/error.h"
#include "ir/files.h"
#include "jobs/order.h"

namespace chorale {

struct OrderCommand : JobText {
  std::string topology = {};    // Slurm's topology.conf
  std::string hosts = {};       // "n[0-3,7]"; "": all of the file
  OrderQuestion question = {};  // without the job and the tapers
  std::string tapers = "2";     // "2,4"
  std::string json = {}, html = {};
  std::string emit = {};  // a directory
};
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

}  // namespace

Outcome perform(const OrderCommand& command, Supervisor&) {
  OrderQuestion question = command.question;
  question.job = job_of(command);
  question.rates.tapers = tapers_of(command.tapers);
  const NodeOrder answer = order(allocation(command.topology, command.hosts), question);
  Outcome outcome = reported(report_of(answer), command.html);
  if (!command.json.empty()) deliver(command.json, to_json(answer), outcome);
  if (command.emit.empty()) return outcome;
  deliver(command.emit, emit_order(answer), outcome);
  return outcome;
}

// Ranks of a host are the fastest axes, so only the hosts are ordered.
void order_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "order", "The order of a job's nodes for the hosts and switches that it was given",
              "Rank r of the job is at position r of the mesh of its axes, the last axis\n"
              "the fastest. Rings go in the order of ranks, as NCCL's do.\n"
              "exit codes: 0 ordered, proven or not, 2 bad input, 3 out of time or memory,\n"
              "130 interrupted\n"
              "examples:\n"
              "  chorale order examples/topology.conf --axes data=256 --reduce data --bytes 1G");
  auto options = values_of<OrderCommand>(sub, parsed);
  argument(sub, "topology", options->topology, "FILE",
           "Slurm's topology.conf, or the output of 'scontrol show topology'");
  text(sub, "--hosts", options->hosts, "LIST",
       "The hosts of the job, as SLURM_JOB_NODELIST has them: n[1-3,7] (all of the file)");
  text(sub, "--axes", options->axes, "NAME=N,...",
       "Parallel axes, the slowest first; their sizes multiply to the number of ranks");
  one_communication(sub, *options);
  text(sub, "--job", options->job, "FILE", "Axes and weighted communications from a file, instead of these");
  integer(sub, "--node-ranks", options->question.node_ranks, 1, 4096, "N",
          "Ranks of a host: the fastest axes (8)");
  positive(sub, "--node-gbs", options->question.rates.node_gbs, "GB",
           "GB/s that a host sends, by all its NICs (50)");
  text(sub, "--taper", options->tapers, "R,...",
       "What the hosts below a switch send, over what its link up carries: of leaf switches, of those above "
       "them, and so on; the last for all further ones (2)");
  limits(sub, parsed.limits, "");
  file_to_write(sub, "--json", options->json, "Write the order there");
  file_to_write(sub, "--html", options->html, kReportPage);
  directory_to_write(sub, "--emit", options->emit,
                     "Write a rank file, a SLURM_HOSTFILE, the list of hosts, and the mesh there");
}

}  // namespace chorale
