#include "api/tuning.h"

#include <optional>

#include "api/schedule_runs.h"

namespace chorale {

TuneResult tune(const Workload& workload, const WorkloadMachine& machine, const TuneQuestion& question) {
  std::optional<ScheduleRuns> runs;
  if (question.measured > 0) runs.emplace(machine, question.transport, question.runs, question.folder);
  bool measuring = false;
  TuneOptions options{.prices = prices_of(workload, machine, question.device),
                      .most_candidates = question.most_candidates,
                      .roots = roots_to_try(machine.topology),
                      .measured = question.measured,
                      .variations = question.variations,
                      .values = setting_values(question.transport, workload.ranks * workload.groups),
                      .measure =
                          [&](const Candidate& candidate, const Execution& execution) {
                            measuring = true;
                            return runs->time(candidate.workload, execution);
                          },
                      .with = name_of(question.transport),
                      .machine = machine.topology.name,
                      .progress = question.progress,
                      .stop = question.stop,
                      .log = question.log};
  if (question.record) options.record = [&](const std::string& line) { question.record(line, measuring); };
  return tune(workload, options);
}

}  // namespace chorale
