// Targets are those of 'emit' that choose by size or are loaded by it; json, dot and traces for simulators
// are of one schedule, and are left out.
#include <memory>

#include "cli/option_kinds.h"
#include "ir/words.h"

namespace chorale {
namespace {

void destination(CLI::App* sub, OptimizeCommand& options) {
  directory_to_write(
      sub, "-o,--output", options.directory,
      "Write there the result, a page with the figure, and a program for all sizes, with a README");
  std::vector<std::pair<Text, std::optional<Target>>> targets;
  for (const TargetEntry& entry : known_targets())
    if (entry.form == TargetForm::Program || entry.form == TargetForm::Plan)
      targets.emplace_back(entry.name, entry.target);
  targets.emplace_back("preload", std::nullopt);
  choice<std::optional<Target>>(sub, "--target", options.target, targets,
                                "What the program is for, or preload: programs as they are, whose MPI "
                                "collectives are replaced; tried where mpirun is (mpi)");
}

}  // namespace

void optimize_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "optimize", "The fastest algorithm found for each message size: time, bound, speedup, program",
      "Sizes are those of messages, as nccl-tests counts them. Times are by the alpha-beta model,\n"
      "each link by its own numbers; baselines are timed by the same. A row of 100.0 % of the bound\n"
      "is proven to be the fastest; where one is not, the exit code is 3, with or without a limit.\n"
      "exit codes: 0 all rows proven, 3 some unproven, 20 impossible, 130 interrupted, 2 bad input\n"
      "examples:\n  chorale optimize dgx1 allreduce\n"
      "  chorale optimize examples/node.xml --nodes 2 AllReduce -o best\n"
      "  chorale optimize torus:4x4 --sizes 64K:64M:8 --search-time 5");
  auto options = std::make_shared<OptimizeCommand>();
  machine_and_collective(sub, options->question, false);
  rising_sizes(sub, options->asked.message_bytes,
               "Bytes of messages: 64K, 1K,3000, or from:to:factor (1K:1G:4)");
  text(sub, "--log", options->log, "FILE",
       "Compare with what was measured: the output of nccl-tests (all_reduce_perf, ...) or of an OSU "
       "collective; its sizes are those of the table if --sizes is not given");
  baselines(sub, options->asked.baselines);
  duration(sub, "--search-time", options->search_time,
           "Search each collective for all of T (30s, or less where the search ends by itself)");
  destination(sub, *options);
  file_to_write(sub, "--json", options->json, "Write the table there");
  file_to_write(sub, "--svg", options->svg, "Draw time and bus bandwidth over message size there");
  {
    const Heading heading(sub, "Limits and progress");
    integer(sub, "--jobs", options->asked.search.jobs, 1, 256, "J", "Search J chunk counts side by side (1)");
  }
  limits(sub, options->limits, " and keep what was found");
  progress(sub, options->progress);
  sub->final_callback([options, &parsed] {
    // A log and a figure are of one collective; without a name five are searched.
    if (options->question.collective.empty() && !(options->log.empty() && options->svg.empty()))
      throw InputError(options->log.empty() ? "--svg" : "--log", "is of one collective", "name it");
    parsed = *options;
  });
}

}  // namespace chorale
