#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/supervisor.h"
#include "cli/tuning.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

std::string chosen_table(const CompiledWorkload& compiled) {
  if (compiled.chosen.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"operation", "collective", "block", "steps", "rounds", "chunks", "should take"}};
  for (const ChosenAlgorithm& each : compiled.chosen)
    rows.push_back({shown(each.operation), each.collective, format_bytes(each.block_bytes),
                    fmt::format("{}", each.cost.steps), fmt::format("{}", each.cost.rounds),
                    fmt::format("{}", each.cost.chunks), format_us(each.us)});
  return table(rows, "llrrrrr");
}

}  // namespace

Outcome perform(const CompileCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.target.progress);
  Workload workload = read_workload(command.workload);
  const std::string directory = command.directory.empty() ? workload.name : command.directory;
  require_makeable_directory("-o", directory);
  const WorkloadMachine machine =
      machine_for(workload, command.target,
                  command.tunes ? WorkloadSearch::Transformed : WorkloadSearch::AsIs, supervisor);
  std::string text;
  if (command.tunes) {
    const TuneResult result = tuned(workload, machine, command.tune, supervisor);
    const Candidate& best = result.candidates[result.ranking.front()];
    text = best.script.empty() ? "the program as it is\n" : shown(best.script) + "\n";
    workload = best.workload;
  }
  CompiledWorkload compiled = compile(workload, machine);
  text += chosen_table(compiled);
  for (NamedText& file : compiled.files) {
    file.path = directory + "/" + file.path;
    text += shown(file.path) + "\n";
  }
  supervisor.take_floor();
  write_files(compiled.files);
  return {.text = text};
}

}  // namespace chorale
