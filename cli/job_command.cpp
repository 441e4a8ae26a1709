// Traces become calls by collective, group and size (api/read_job.cpp); with a machine each is timed there,
// by a library or a short search, beside the baseline. Without a machine the job is only listed.
#include <fmt/format.h>

#include "api/job.h"
#include "api/library.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

// The mean of the rank that measured the least: what others measure includes waiting for it.
std::string each_us(const JobCalls& calls) {
  return calls.us > 0 ? format_us(calls.us / static_cast<double>(calls.calls)) : "-";
}

// A dash stands for a number of ranks that no trace contains, and for times of traces without times.
std::string list(const TracedJob& job) {
  TableRows rows = {{"collective", "group", "ranks", "message", "calls", "time of one", "of all"}};
  for (const JobCalls& calls : job.calls)
    rows.push_back({calls.collective, shown(calls.group), calls.ranks > 0 ? std::to_string(calls.ranks) : "-",
                    format_bytes(static_cast<double>(calls.message_bytes)), std::to_string(calls.calls),
                    each_us(calls), calls.us > 0 ? format_us(calls.us) : "-"});
  return table(rows, "llrrrrr");
}

// "none": the machine has no level with these ranks, so nothing was searched.
std::string compared(const JobGain& gain) {
  TableRows rows = {
      {"collective", "level", "message", "calls", "measured", "baseline", "", "time", "speedup"}};
  for (const JobGainRow& row : gain.rows) {
    const bool known = row.us > 0 && row.baseline_us > 0;
    rows.push_back(
        {row.calls.collective, row.level.empty() ? "none" : row.level,
         format_bytes(static_cast<double>(row.calls.message_bytes)), std::to_string(row.calls.calls),
         each_us(row.calls), row.baseline.empty() ? "-" : row.baseline,
         row.baseline_us > 0 ? format_us(row.baseline_us) : "-", row.us > 0 ? format_us(row.us) : "-",
         known ? fmt::format("{:.2f}x", row.baseline_us / row.us) : "-"});
  }
  return table(rows, "llrrrlrrr");
}

}  // namespace

Outcome perform(const JobCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.progress);
  std::vector<TraceText> traces;
  for (const std::string& file : command.traces) traces.push_back({.file = file, .text = read_file(file)});
  const TracedJob job = read_job(traces);
  Outcome outcome{.text = list(job)};
  // Names come from traces, so they are made safe to be shown.
  for (const auto& [operation, times] : job.skipped)
    outcome.notes.push_back(shown(fmt::format("{} of {} left out: no collective of one size for all ranks",
                                              counted(times, "call"), operation)));
  // Without a machine the list is all, and its JSON has no comparison.
  JobQuestion question = command.question;
  if (question.machine.empty()) {
    if (!command.json.empty()) deliver(command.json, to_json(job), outcome);
    return outcome;
  }
  supervisor.publish([&command, job, outcome](Stopped stopped) {
    Outcome listed = outcome;
    listed.exit_code = exit_code_of(stopped);
    listed.text += "nothing was compared (" + name_of(stopped) + ")\n";
    if (!command.json.empty()) deliver(command.json, to_json(job), listed);
    if (!command.spec.empty()) listed.errors.push_back("--spec: not written (" + name_of(stopped) + ")");
    return listed;
  });
  const std::unique_ptr<AnswerFile> library =
      question.library_name.empty() ? nullptr : open_answers(question.library_name, false);
  question.library = library.get();
  question.stop = supervisor.stop();
  question.progress = supervisor.doing();
  // A limit ends the search that runs and those after it; rows without a time have dashes.
  const JobGain gain = job_gain(job, question);
  supervisor.take_floor();
  outcome.exit_code = exit_code_of(supervisor.stopped());
  outcome.text += "\n" + compared(gain) + in_words(gain, question.machine) + "\n";
  if (!command.spec.empty()) deliver(command.spec, library_spec(gain, question.machine), outcome);
  if (!command.json.empty()) deliver(command.json, to_json(job, &gain, question.machine), outcome);
  return outcome;
}

}  // namespace chorale
