// The search over schedules may end complete, by its own limit of candidates, or by a limit of the command; a
// schedule that failed when it was measured is a wrong answer of ours, and decides the exit code.
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/supervisor.h"
#include "cli/tuning.h"
#include "ir/error.h"

namespace chorale {
namespace {

Outcome outcome_of(const TuneCommand& command, const Workload& workload, const TuneResult& result,
                   Stopped stopped) {
  Outcome outcome{.exit_code = result.end == TuneEnd::Complete ? kFound
                               : stopped != Stopped::No        ? exit_code_of(stopped)
                                                               : kUndecided,
                  .text = to_text(result, command.top),
                  .errors = failures(result)};
  // After the limits: a schedule that computes something else is worse than a search that was cut.
  if (!outcome.errors.empty()) outcome.exit_code = kWrongData;
  if (!command.json.empty()) deliver(command.json, to_json(result), outcome);
  if (!command.html.empty()) deliver(command.html, to_page(workload, result), outcome);
  return outcome;
}

// The program as it was given is an answer from the first moment.
void publish_as_given(const TuneCommand& command, const Workload& workload, Supervisor& supervisor) {
  supervisor.await_first_answer();
  const std::optional<WorkloadMachine> machine = quick_machine_for(workload, command.target);
  if (!machine) return supervisor.publish({});
  TuneQuestion alone{.device = command.tune.device, .most_candidates = 0};
  supervisor.publish([&command, workload, result = tune(workload, *machine, alone)](Stopped stopped) {
    return outcome_of(command, workload, result, stopped);
  });
}

}  // namespace

Outcome perform(const TuneCommand& command, Supervisor& supervisor) {
  require_writable_file("--log", command.tune.log.path);
  supervisor.want_progress(command.target.progress);
  const Workload workload = read_workload(command.workload);
  publish_as_given(command, workload, supervisor);
  const WorkloadMachine machine =
      machine_for(workload, command.target, WorkloadSearch::Transformed, supervisor);
  const TuneResult result = tuned(workload, machine, command.tune, supervisor);
  return outcome_of(command, workload, result, supervisor.stopped());
}

}  // namespace chorale
