// What 'tune' and 'compile --tune' share: algorithms for the communications, and the tuner with its log.
#include "cli/tuning.h"

#include <fmt/format.h>

#include <filesystem>

#include "api/inputs.h"
#include "api/tuning.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

// Two phases: schedules are found and expanded; then the best are measured, and their settings varied.
std::string doing(const TuneProgress& progress) {
  if (progress.to_measure == 0)
    return fmt::format("{}, {} to examine", counted(progress.candidates, "schedule"), progress.open);
  const std::string measured =
      fmt::format("{} of {} measured", progress.measured, counted(progress.to_measure, "schedule"));
  return progress.varied == 0
             ? measured
             : fmt::format("{}, {} with other settings", measured, counted(progress.varied, "run"));
}

std::vector<Result> known_results(const WorkloadTarget& target) {
  std::vector<Result> known;
  for (const std::string& file : target.algorithms) known.push_back(read_sound_result(file));
  return known;
}

}  // namespace

std::optional<WorkloadMachine> quick_machine_for(const Workload& workload, const WorkloadTarget& target) {
  return quick_algorithms_for(machine(target.machine, target.changes), workload, known_results(target),
                              {.max_chunks = target.max_chunks}, target.order);
}

// Result files come first, and a search fills in what they lack.
WorkloadMachine machine_for(const Workload& workload, const WorkloadTarget& target, WorkloadSearch search,
                            Supervisor& supervisor) {
  const Topology topology = machine(target.machine, target.changes);
  FrontierOptions options{.max_chunks = target.max_chunks,
                          .time_limit = supervisor.time_left(),
                          .synthesis = {.limits = {.stop = supervisor.stop()}}};
  if (ProgressLine& line = supervisor.progress(); line.wanted())
    options.progress = [&line](const Progress& progress) { line.show(progress.doing); };
  return algorithms_for(topology, workload, search, known_results(target), options, target.order);
}

// A schedule is named by the transformations that make it.
std::vector<std::string> failures(const TuneResult& result) {
  std::vector<std::string> lines;
  for (const Candidate& each : result.candidates)
    if (!each.failure.empty())
      lines.push_back(fmt::format("{}: {}",
                                  each.script.empty() ? "the program as it was given" : shown(each.script),
                                  shown(each.failure)));
  return lines;
}

TuneResult tuned(const Workload& workload, const WorkloadMachine& machine, const TuneQuestion& asked,
                 Supervisor& supervisor) {
  TuneQuestion question = asked;
  question.stop = supervisor.stop();
  ProgressLine& line = supervisor.progress();
  if (line.wanted())
    question.progress = [&line](const TuneProgress& progress) { line.show(doing(progress)); };
  // All that an earlier run has measured is recorded before anything is measured again, so the file loses
  // nothing whenever it is written from then on.
  std::string log;
  const std::string& file = asked.log.path;
  if (!file.empty()) {
    if (std::filesystem::exists(file)) question.log.text = read_file(file);
    question.record = [&](const std::string& text, bool measuring) {
      log += text + "\n";
      if (measuring) write_file(file, log);
    };
  }
  TuneResult result = tune(workload, machine, question);
  if (!file.empty()) write_file(file, log);
  return result;
}

}  // namespace chorale
