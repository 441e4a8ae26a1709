// Rates and counts are those that libchorale-mpi takes.
#include "api/alltoallv.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "ir/files.h"

namespace chorale {

struct AlltoallvCommand {
  std::string counts = {};  // a file
  int nodes = 1;
  std::string rates = {};
  std::string json = {}, html = {};
};

Outcome perform(const AlltoallvCommand& command, Supervisor&) {
  const ByteCounts counts = read_byte_counts(read_file(command.counts), command.counts);
  const TwoTiers tiers = equal_nodes(counts.ranks, command.nodes, command.rates);
  const PlannedAlltoallv planned = plan_by_counts(tiers, counts);
  Outcome outcome = reported(report_of(planned), command.html);
  if (!command.json.empty()) deliver(command.json, to_json(tiers, planned), outcome);
  return outcome;
}

void alltoallv_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "alltoallv", "A plan of an Alltoallv by its counts, in milliseconds, as libchorale-mpi makes it",
      "COUNTS has a line per source, with the bytes for each destination, separated by commas or "
      "whitespace.\n"
      "Nodes are of successive ranks. RATES: NICs of a node (0: one per rank), GB/s of a NIC and of a rank\n"
      "within its node, microseconds of a step.\n" +
          kPlainExitCodes + "example:\n  chorale alltoallv examples/alltoallv.csv --nodes 4");
  auto options = values_of<AlltoallvCommand>(sub, parsed);
  argument(sub, "counts", options->counts, "COUNTS", "Bytes from each rank to each");
  integer(sub, "--nodes", options->nodes, 1, 512, "N", "The ranks are N equal nodes (1)");
  text(sub, "--rates", options->rates, "RATES", "nics=0,nic=50,node=450,latency=5, or some of these");
  file_to_write(sub, "--json", options->json, "Write the plan there");
  file_to_write(sub, "--html", options->html, kReportPage);
}

}  // namespace chorale
