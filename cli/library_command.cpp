// One function per action of 'library'. Tables have a row per entry: a machine, group, collective and root
// under which an answer is stored. Several entries may share one answer, since answers are stored under a
// canonical numbering of the machine (library/question.h).
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
#include "ir/json_reader.h"
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

// Pairs differ in their links, so an entry of pairs is named with its two ranks; other groups are one kind
// mostly.
std::string group_of(const AnswerPlace& place) {
  return place.group == "pairs" ? "pairs " + place.members : place.group;
}

// The median, and the least.
std::vector<std::string> microseconds(const MeasuredTime* time) {
  if (time == nullptr) return {"-", "-"};
  return {fmt::format("{:.1f}", time->median_us), fmt::format("{:.1f}", time->least_us)};
}

// Measurements of an entry, a row per size: the fastest of its points, and the library's own collective.
void add_measured(const StoredAnswer& stored, const AnswerPlace& place, const Collective& collective,
                  TableRows& rows) {
  const MessageShape message = message_shape(collective);
  // By what carried the messages and by size: the fastest of Chorale's points, and the carrier's own.
  std::map<std::pair<std::string, std::int64_t>, std::pair<const MeasuredTime*, const MeasuredTime*>> sizes;
  for (const MeasuredTime& time : stored.measured) {
    auto& [best, own] = sizes[{time.over, size_of_block(message, time.bytes)}];
    if (time.point == MeasuredTime::kOwn)
      own = &time;
    else if (best == nullptr || time.median_us < best->median_us)
      best = &time;
  }
  for (const auto& [size, times] : sizes) {
    const auto& [best, own] = times;
    std::vector<std::string>& row = rows.emplace_back(std::vector{
        place.machine, group_of(place), place.collective,
        is_rooted(collective.kind) ? std::to_string(place.root) : "-",
        format_bytes(static_cast<double>(size.second)), best != nullptr ? std::to_string(best->point) : "-"});
    const double rate = best != nullptr ? algbw_gbs(static_cast<double>(size.second), best->median_us) : 0;
    for (const std::string& cell : microseconds(best)) row.push_back(cell);
    for (const double gbs : {rate, rate * message.bus_factor})
      row.push_back(best != nullptr ? fmt::format("{:.3g}", gbs) : "-");
    for (const std::string& cell : microseconds(own)) row.push_back(cell);
    row.push_back(size.first);
  }
}

// Of MPI's own algorithms, a row per size: the fastest, and how many were measured.
void add_own(const StoredAnswer& stored, const AnswerPlace& place, const Collective& collective,
             TableRows& rows) {
  const MessageShape message = message_shape(collective);
  std::map<std::pair<std::string, std::int64_t>, std::vector<const OwnTime*>> sizes;
  for (const OwnTime& own : stored.own) sizes[{own.library, own.time.bytes}].push_back(&own);
  for (const auto& [size, times] : sizes) {
    const OwnTime& best =
        **std::ranges::min_element(times, {}, [](const OwnTime* own) { return own->time.median_us; });
    rows.push_back({place.machine, group_of(place), place.collective,
                    format_bytes(static_cast<double>(size_of_block(message, size.second))), size.first,
                    best.algorithm, fmt::format("{:.1f}", best.time.median_us),
                    std::to_string(times.size())});
  }
}

// Points are summarized by the two ends of the frontier: the fewest steps, and the fewest rounds per chunk.
// The number of refutations that were not checked becomes a note.
Outcome show(const LibraryCommand& command) {
  TableRows rows = {
      {"machine", "group", "collective", "root", "ranks", "points", "steps", "rounds/chunk", ""}};
  TableRows measured = {{"machine", "group", "collective", "root", "message", "point", "us", "least", "GB/s",
                         "busbw", "its own", "least", "over"}};
  TableRows own = {{"machine", "group", "collective", "message", "of", "fastest", "us", "measured"}};
  long long answers = 0, unchecked = 0;
  open_answers(command.file, false)->each([&](const StoredAnswer& stored) {
    const TakenAnswer taken_answer = taken(stored, command.file);
    const Result& result = taken_answer.result;
    refuse_places(stored, result, command.file);
    unchecked += taken_answer.unchecked;
    ++answers;
    const auto of_frontier = [](const Point& point) { return point.on_frontier; };
    const auto points = std::ranges::count_if(result.points, of_frontier);
    // Points are sorted by steps, and those of the frontier come first.
    const Cost few = points > 0 ? result.points.front().cost : Cost{};
    const Cost fast = points > 0 ? result.points[points - 1].cost : Cost{};
    for (const AnswerPlace& place : stored.places) {
      add_measured(stored, place, result.collective, measured);
      add_own(stored, place, result.collective, own);
      const bool fixed = result.collective.order.kind == SumOrder::Kind::Fixed;
      rows.push_back({place.machine, group_of(place), place.collective + (fixed ? ", fixed order" : ""),
                      is_rooted(result.collective.kind) ? std::to_string(place.root) : "-",
                      std::to_string(place.ranks), std::to_string(points),
                      points > 0 ? std::to_string(few.steps) : "-",
                      points > 0 ? fraction(fast.rounds, fast.chunks) : "-",
                      result.complete ? "proven" : name_of(result.stopped)});
    }
  });
  // By their texts: machine, group, collective, root. Rows of one answer need not be adjacent.
  std::sort(rows.begin() + 1, rows.end());
  Outcome outcome{.text = table(rows, "lllrrrrrl") +
                          fmt::format("{} in {}\n", counted(answers, "answer"),
                                      counted(std::ssize(rows) - 1, "entry", "entries"))};
  note_unchecked(unchecked, command.file, outcome.notes);
  if (measured.size() > 1) {
    // By entries as above, then by increasing size.
    std::stable_sort(measured.begin() + 1, measured.end(), [](const auto& a, const auto& b) {
      return std::ranges::lexicographical_compare(a.begin(), a.begin() + 4, b.begin(), b.begin() + 4);
    });
    outcome.text += "measured, median and least: our fastest point, and the own of what carried it\n" +
                    table(measured, "lllrrrrrrrrrl");
  }
  if (own.size() > 1) outcome.text += "MPI's own algorithms, each forced\n" + table(own, "lllrllrr");
  if (command.html.empty()) return outcome;
  deliver(command.html, to_page(*open_answers(command.file, false), command.file), outcome);
  return outcome;
}

// A row per machine, collective and failures that leave equal machines.
Outcome list_failures(const LibraryCommand& command) {
  const std::vector<FailureRow> found = failure_rows(*open_answers(command.file, false), command.file);
  if (found.empty())
    throw InputError(command.file, "has no machines after failures", "build it with --failures 1");
  const auto percent = [](double share) { return share > 0 ? fmt::format("{:.1f} %", 100 * share) : "-"; };
  TableRows rows = {
      {"machine", "collective", "failure", "alike", "rounds/chunk", "of bound", "of whole", "at most"}};
  for (const FailureRow& row : found)
    rows.push_back({row.machine, row.collective, row.failure, std::to_string(row.alike),
                    row.rounds_per_chunk > 0 ? fmt::format("{:.4g}", row.rounds_per_chunk) : "-",
                    percent(row.of_bound), percent(row.of_whole), percent(row.most_of_whole)});
  Outcome outcome{.text = table(rows, "lllrrrrr")};
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
  for (TakenAnswer& answer :
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
  return done_in_python("chorale library export", "tuning_files",
                        fmt::format(R"({{"words":{},"form":{},"library":{},"output":{}}})", list(words),
                                    quoted(command.rules), quoted(command.file), quoted(command.output)),
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
