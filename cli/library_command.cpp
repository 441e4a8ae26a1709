// One function per action of 'library'.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "api/inputs.h"
#include "api/library.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/library_build.h"
#include "cli/python_command.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "library/select.h"

namespace chorale {
namespace {

// The library is opened before the first search: an answer is stored as soon as it is there.
Outcome build(const LibraryCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.progress);
  const std::vector<LibraryQuestion> questions =
      library_questions(read_file(command.spec), command.spec, command.failures > 0);
  require_writable_file("-o", command.file);
  const std::unique_ptr<AnswerFile> file = open_answers(command.file, true);
  const BuildReport report =
      build_library(*file, questions,
                    {.jobs = command.jobs,
                     .stop = supervisor.stop(),
                     .progress =
                         [&](int answered, int of) {
                           supervisor.progress().show(fmt::format("{} of {} answered", answered, of));
                         }},
                    search_by_processes(command));
  std::size_t places = 0;
  for (const LibraryQuestion& question : questions) places += question.places.size();
  const bool all = report.there + report.answered == std::ssize(questions);
  return {.exit_code = all                                   ? kFound
                       : supervisor.stopped() != Stopped::No ? exit_code_of(supervisor.stopped())
                                                             : kUndecided,
          .text = fmt::format("{} in {}: {} there before, {} answered now, {} open\n",
                              counted(std::ssize(questions), "question"),
                              counted(static_cast<long long>(places), "entry", "entries"), report.there,
                              report.answered, std::ssize(questions) - report.there - report.answered),
          .errors = report.failures};
}

Outcome show(const LibraryCommand& command) {
  const auto of = [&](bool by_size) {
    return report_of(*open_answers(command.file, false), command.file, by_size);
  };
  Outcome outcome = reported(of(false), "");
  if (!command.html.empty()) deliver(command.html, to_page(of(true)), outcome);
  return outcome;
}

Outcome list_failures(const LibraryCommand& command) {
  const std::vector<FailureRow> found = failure_rows(*open_answers(command.file, false), command.file);
  if (found.empty())
    throw InputError(command.file, "has no machines after failures", "build it with --failures 1");
  Outcome outcome = reported(report_of(found), "");
  if (!command.json.empty()) deliver(command.json, to_json(found), outcome);
  return outcome;
}

// Answer by answer, so that a limit keeps what was checked. An entry whose machine is a file that is not here
// cannot be compared with the answer; it is a note, and the exit code that of an undecided check.
Outcome verify(const LibraryCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.progress);
  Outcome outcome;
  LibraryReport all{.answers = 0};
  // The callback cannot end the iteration, so after a stop it returns at once.
  bool cut = false;
  open_answers(command.file, false)->each([&](const StoredAnswer& stored) {
    cut = cut || *supervisor.stop();
    if (cut) return;
    supervisor.progress().show(counted(all.answers + 1, "answer"));
    const LibraryReport report = check_answer(
        stored, {.conflicts = command.conflicts, .time = supervisor.time_left(), .stop = supervisor.stop()});
    add(all, report);
    for (const Fault& fault : report.check.faults) {
      const AnswerPlace place = stored.places.empty() ? AnswerPlace{} : stored.places.front();
      outcome.errors.push_back(shown(fmt::format("{}: {}, {}, {}: {}", command.file, place.machine,
                                                 place.group, place.collective, fault.words)));
    }
  });
  const CheckReport& check = all.check;
  std::map<std::string, long long> away;  // entries by the file of their machine
  for (const std::string& machine : all.away) ++away[machine];
  outcome.exit_code = !check.faults.empty()                  ? kBadInput
                      : cut                                  ? exit_code_of(supervisor.stopped())
                      : check.undecided > 0 || !away.empty() ? kUndecided
                                                             : kFound;
  outcome.text = fmt::format("{} in {}: {} verified, {} accepted, {} checked, {} made again",
                             counted(all.answers, "answer"), counted(all.places, "entry", "entries"),
                             counted(check.schedules, "schedule"), counted(check.bounds, "bound"),
                             counted(check.refutations, "refutation"), counted(all.predicted, "prediction"));
  if (check.undecided > 0)
    outcome.text += fmt::format(", {} undecided within the limits", counted(check.undecided, "refutation"));
  if (all.measured > 0) outcome.text += fmt::format("; {} taken as measured", counted(all.measured, "time"));
  outcome.text += cut ? "; not all was checked (" + name_of(supervisor.stopped()) + ")\n" : "\n";
  for (const auto& [machine, number] : away)
    outcome.notes.push_back(fmt::format("{}: {} not checked: {} is not here", command.file,
                                        counted(number, "entry", "entries"), machine));
  return outcome;
}

// Leaves of each those over one library. Times over MPI and over NCCL of one algorithm are not comparable, so
// one of them has to be chosen where both are there.
void keep_times_over(std::optional<MeasuredOver> over, std::vector<std::vector<MeasuredTime>>& measured) {
  std::set<std::string> known;
  for (const auto& times : measured)
    for (const MeasuredTime& time : times) known.insert(time.over);
  if (!over && known.size() > 1)
    throw InputError("--over",
                     "is missing: there are times over " + joined({known.begin(), known.end()}, " and "),
                     "choose which decide: --over " + *known.begin());
  if (!over) return;
  for (auto& times : measured)
    std::erase_if(times, [&](const MeasuredTime& time) { return time.over != name_of(*over); });
}

// Where a time is from, and whether the library's own is faster.
std::string origin(const Choice& choice, const std::vector<MeasuredTime>& measured, double block) {
  if (!choice.measured) return "predicted";
  const auto own = measured_us(measured, MeasuredTime::kOwn, block);
  if (!own || choice.us <= *own) return "measured";
  const bool mpi = measured.front().over == name_of(MeasuredOver::Mpi);
  return fmt::format("measured; {} own took {}", mpi ? "MPI's" : "NCCL's", format_us(*own));
}

// The fastest at each size over all answers for the place: sums in a fixed order and agreed ones may both be
// there. Measured times precede predicted ones (library/select.h).
Outcome choose(const LibraryCommand& command) {
  std::vector<std::vector<MeasuredTime>> measured;
  std::vector<Result> results;
  long long unchecked = 0;
  for (VerifiedAnswer& answer :
       results_at(*open_answers(command.file, false), command.file, command.place, command.order)) {
    unchecked += answer.unchecked;
    results.push_back(std::move(answer.result));
    measured.push_back(std::move(answer.measured));
  }
  keep_times_over(command.over, measured);
  TableRows rows = {{"message", "time", "", "GB/s", "busbw", "steps", "rounds/chunk", "construction"}};
  const Collective& asked = results.front().collective;
  const MessageShape message = message_shape(asked);
  // The file has the result that is taken at the first size.
  std::optional<Choice> first;
  for (const std::int64_t bytes : command.bytes) {
    const auto block = static_cast<double>(block_of_size(message, bytes));
    const auto best = select(results, call_of(asked, block), {}, measured);
    if (!best) throw InputError(command.file, "has no schedule for that", "build it with other limits");
    if (!first) first = best;
    const Point& point = results[best->result].points[best->point];
    const double rate = algbw_gbs(static_cast<double>(bytes), best->us);
    rows.push_back({format_bytes(static_cast<double>(bytes)), format_us(best->us),
                    origin(*best, measured[best->result], block), fmt::format("{:.4g}", rate),
                    fmt::format("{:.4g}", rate * message.bus_factor), std::to_string(point.cost.steps),
                    fraction(point.cost.rounds, point.cost.chunks), origin(point)});
  }
  Outcome outcome{.text = table(rows, "rrlRrrLl")};
  note_unchecked(unchecked, command.file, outcome.notes);
  if (!command.json.empty()) deliver(command.json, to_json(results[first->result]), outcome);
  return outcome;
}

// A library under its temporary name: removed, with what SQLite adds beside it, unless it was renamed.
struct DraftLibrary {
  std::string path = {};
  ~DraftLibrary() { remove(path); }
  static void remove(const std::string& path) {
    std::error_code error;
    for (const char* const ending : {"", "-journal"}) std::filesystem::remove(path + ending, error);
  }
};

// All or nothing: a new file is written beside the old one and replaces it when it is complete. Where a limit
// ends the process no destructor runs, so the last report removes it.
Outcome merge(const LibraryCommand& command, Supervisor& supervisor) {
  require_writable_file("-o", command.output);
  for (const std::string& file : command.files) {
    std::error_code error;
    if (std::filesystem::equivalent(file, command.output, error))
      throw InputError("-o", "is one of the libraries that are merged", "name another file");
  }
  // In the same directory, since rename() does not cross file systems; SQLite adds a -journal beside it.
  const DraftLibrary draft{fmt::format("{}.{}.part", command.output, getpid())};
  const auto cut = [path = draft.path](Stopped stopped) -> Outcome {
    DraftLibrary::remove(path);
    return {.exit_code = exit_code_of(stopped), .errors = {"nothing was merged (" + name_of(stopped) + ")"}};
  };
  supervisor.publish(cut);
  const MergeReport report = merge_answers(command.files, *open_answers(draft.path, true), supervisor.stop());
  supervisor.take_floor();
  if (report.cut) return cut(supervisor.stopped());
  std::error_code error;
  std::filesystem::rename(draft.path, command.output, error);
  if (error) throw InputError("-o", command.output + ": " + error.message(), "choose another file");
  Outcome outcome{.text = fmt::format("{}: {} equal in several files\n", counted(report.answers, "answer"),
                                      report.equal)};
  if (report.joined > 0) outcome.text += fmt::format("{} combined from several\n", report.joined);
  for (std::size_t i = 0; i < command.files.size(); ++i)
    outcome.text += fmt::format("{} taken from {}\n", report.taken[i], command.files[i]);
  if (report.unchecked > 0)
    outcome.notes.push_back(fmt::format("{} not checked; 'chorale library verify' does",
                                        counted(report.unchecked, "refutation")));
  return outcome;
}

// Made in Python of the library's times, which it asks this program for.
Outcome rule_files(const LibraryCommand& command, Supervisor& supervisor) {
  std::vector<std::string> words = {command.file, command.place.machine};
  words.insert(words.end(), command.collectives.begin(), command.collectives.end());
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  add("--group", command.place.group);
  add("--root", std::to_string(command.place.root));
  add("--bytes", fmt::format("{}", fmt::join(command.bytes, ",")));
  if (!command.place.members.empty())
    add("--ranks", fmt::format("{}", fmt::join(split(command.place.members, ' '), ",")));
  if (command.order) add("--order", *command.order == SumOrder::Kind::Fixed ? "fixed" : "agreed");
  return done_in_python(
      "chorale library export", "tuning_files",
      json_object("words", words, "form", command.rules, "library", command.file, "output", command.output)
          .text,
      supervisor);
}

// Files are made by the library; what a target cannot express is a note.
Outcome exported(const LibraryCommand& command, Supervisor& supervisor) {
  if (!command.rules.empty()) return rule_files(command, supervisor);
  Exported written = export_answers(*open_answers(command.file, false), command.file,
                                    {.place = command.place,
                                     .collectives = command.collectives,
                                     .bytes = command.bytes,
                                     .order = command.order,
                                     .form = command.form});
  Outcome outcome{.notes = written.notes};
  note_unchecked(written.unchecked, command.file, outcome.notes);
  for (NamedText& file : written.files) {
    file.path = command.output + "/" + file.path;
    outcome.text += shown(file.path) + "\n";
  }
  outcome.files = std::move(written.files);
  return outcome;
}

}  // namespace

Outcome perform(const LibraryCommand& command, Supervisor& supervisor) {
  switch (command.action) {
    case LibraryCommand::Action::Build:
      return build(command, supervisor);
    case LibraryCommand::Action::Show:
      return show(command);
    case LibraryCommand::Action::Failures:
      return list_failures(command);
    case LibraryCommand::Action::Verify:
      return verify(command, supervisor);
    case LibraryCommand::Action::Select:
      return choose(command);
    case LibraryCommand::Action::Merge:
      return merge(command, supervisor);
    case LibraryCommand::Action::Export:
      return exported(command, supervisor);
    case LibraryCommand::Action::Measure:
      return measure_library(command, supervisor);
  }
  return {};
}

}  // namespace chorale
