// The table compares the plan with direct sends (each pair at once, without forwarding) and with the bound:
// the bytes of the busiest NIC or rank over its rate. The busiest NIC is what a plan can spread within a
// node, so it stands beside its ratio to the mean of its node: 1 is balanced.
#include <fmt/format.h>

#include "api/alltoallv.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/report.h"
#include "ir/files.h"
#include "ir/words.h"

namespace chorale {

Outcome perform(const AlltoallvCommand& command, Supervisor&) {
  const ByteCounts counts = read_byte_counts(read_file(command.counts), command.counts);
  const TwoTiers tiers = equal_nodes(counts.ranks, command.nodes, command.rates);
  const PlannedAlltoallv planned = plan_by_counts(tiers, counts);
  const AlltoallvPlan& plan = planned.plan;
  // A plan in which nothing moves has no bound, and no ratio.
  const auto over = [&](double us) {
    return plan.bound_us > 0 ? fmt::format("{:.3f}", us / plan.bound_us) : "-";
  };
  const auto bytes = [](const NicLoad& load) { return format_bytes(static_cast<double>(load.most_bytes)); };
  const auto mean = [](const NicLoad& load) { return fmt::format("{:.4f}", load.most_over_mean); };
  // The bound has no NICs of its own: it is a time that no plan is below.
  Outcome outcome{.text =
                      table({{"", "time", "x bound", "busiest NIC", "x mean of its node"},
                             {"plan", format_us(plan.us), over(plan.us), bytes(plan.nics), mean(plan.nics)},
                             {"direct", format_us(plan.direct_us), over(plan.direct_us),
                              bytes(plan.direct_nics), mean(plan.direct_nics)},
                             {"bound", format_us(plan.bound_us), over(plan.bound_us), "-", "-"}},
                            "lrrrr")};
  outcome.text +=
      plan.direct
          ? "direct sends are the plan\n"
          : fmt::format("{} and {}: {:.2f} times as fast as direct sends\n", counted(plan.steps, "step"),
                        counted(std::ssize(plan.pieces), "piece"), plan.direct_us / plan.us);
  if (!command.json.empty()) deliver(command.json, to_json(tiers, planned), outcome);
  return outcome;
}

void alltoallv_options(CLI::App& app, Command& parsed) {
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
}

}  // namespace chorale
