// Three steps: algorithms for the collectives of the program (a search, or files), perhaps the tuner's choice
// among equivalent programs, and the sources. Files are written at the end, all or none, and listed as they
// are written.
#include <fmt/format.h>

#include <algorithm>

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

// A row per communication: the point of its frontier that is predicted to be the fastest at its size.
std::string chosen_table(const CompiledWorkload& compiled) {
  if (compiled.chosen.empty()) return "";
  TableRows rows = {{"operation", "collective", "message", "steps", "rounds", "chunks", "should take"}};
  for (const ChosenAlgorithm& each : compiled.chosen)
    rows.push_back({shown(each.operation), each.collective, format_bytes(each.message_bytes),
                    fmt::format("{}", each.cost.steps), fmt::format("{}", each.cost.rounds),
                    fmt::format("{}", each.cost.chunks), format_us(each.us)});
  return table(rows, "llrrrrr");
}

// The limit of this command that ended a search before it was complete. A question that is too large is not
// such a limit.
Stopped stop_reason(const WorkloadMachine& machine, const Supervisor& supervisor) {
  if (supervisor.stopped() != Stopped::No) return supervisor.stopped();
  const bool late = std::ranges::any_of(machine.algorithms, [](const Result& result) {
    return !result.complete && result.stopped == Stopped::TimeLimit;
  });
  return late ? Stopped::TimeLimit : Stopped::No;
}

// `text` is what precedes the table.
Outcome outcome_of(CompiledWorkload compiled, const std::string& directory, std::string text, Stopped why) {
  text += chosen_table(compiled);
  for (NamedText& file : compiled.files) {
    file.path = directory + "/" + file.path;
    text += shown(file.path) + "\n";
  }
  if (why != Stopped::No) text += "cut short (" + name_of(why) + "): there may be better ones\n";
  return {.exit_code = exit_code_of(why), .text = text, .files = std::move(compiled.files)};
}

// The program as it was given, with what there is without a search, is an answer from the first moment.
void publish_as_given(const CompileCommand& command, const Workload& workload, const std::string& directory,
                      Supervisor& supervisor) {
  supervisor.await_first_answer();
  const std::optional<WorkloadMachine> machine = quick_machine_for(workload, command.target);
  if (!machine) return supervisor.publish({});
  supervisor.publish([text = command.tunes ? "the program as it is\n" : "", directory,
                      compiled = compile(workload, *machine, {}, command.carrier)](Stopped stopped) {
    return outcome_of(compiled, directory, text, stopped);
  });
}

}  // namespace

Outcome perform(const CompileCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.target.progress);
  Workload workload = read_workload(command.workload);
  const std::string directory = command.directory.empty() ? workload.name : command.directory;
  // Before the search, which may take hours.
  require_makeable_directory("-o", directory);
  publish_as_given(command, workload, directory, supervisor);
  const WorkloadMachine machine =
      machine_for(workload, command.target,
                  command.tunes ? WorkloadSearch::Transformed : WorkloadSearch::AsIs, supervisor);
  std::string text;
  Execution execution;
  std::vector<std::string> errors;
  if (command.tunes) {
    const TuneResult result = tuned(workload, machine, command.tune, supervisor);
    const Candidate& best = result.candidates[result.ranking.front()];
    text = best.script.empty() ? "the program as it is\n" : shown(best.script) + "\n";
    if (const std::string words = to_string(best.execution); !words.empty()) text += words + "\n";
    // The program that is compiled is the best one, with the settings of its execution.
    workload = best.workload;
    execution = best.execution;
    // A block of elements is not a block of threads.
    if ((command.carrier == WorkloadCarrier::Cuda) != (command.tune.transport == WorkloadCarrier::Cuda))
      execution.block = 0;
    errors = failures(result);
  }
  CompiledWorkload compiled = compile(workload, machine, execution, command.carrier);
  supervisor.take_floor();
  Outcome outcome =
      outcome_of(std::move(compiled), directory, std::move(text), stop_reason(machine, supervisor));
  // As of 'tune': a schedule that computes something else is worse than a search that was cut.
  if (!errors.empty()) outcome.exit_code = kWrongData;
  outcome.errors = std::move(errors);
  return outcome;
}

}  // namespace chorale
