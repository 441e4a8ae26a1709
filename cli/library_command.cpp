// One function per action of 'library'.
#include "cli/library_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "api/inputs.h"
#include "api/run.h"
#include "cli/option_kinds.h"
#include "cli/python_command.h"
#include "cli/supervisor.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

// The library is opened before the first search: an answer is stored as soon as it is there.
Outcome build(const LibraryCommand& command, Supervisor& supervisor) {
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
                    search_by_processes(supervisor.limits(), command.jobs));
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

Outcome list_entries(const LibraryCommand& command, Supervisor&) {
  const auto of = [&](bool by_size) {
    return report_of(*open_answers(command.file, false), command.file, by_size);
  };
  Outcome outcome = reported(of(false), "");
  if (!command.html.empty()) deliver(command.html, to_page(of(true)), outcome);
  return outcome;
}

Outcome list_failures(const LibraryCommand& command, Supervisor&) {
  const std::vector<FailureRow> found = failure_rows(*open_answers(command.file, false), command.file);
  if (found.empty())
    throw InputError(command.file, "has no machines after failures", "build it with --failures 1");
  Outcome outcome = reported(report_of(found), "");
  if (!command.json.empty()) deliver(command.json, to_json(found), outcome);
  return outcome;
}

// Answer by answer, so that a limit keeps what was checked. An entry whose machine is a file that is not here
// cannot be compared with the answer; it is a note, and the exit code that of an undecided check.
Outcome verify_answers(const LibraryCommand& command, Supervisor& supervisor) {
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

Outcome choose(const LibraryCommand& command, Supervisor&) {
  const Selection chosen = select_answers(
      *open_answers(command.file, false), command.file,
      {.place = command.place, .message_bytes = command.bytes, .order = command.order, .over = command.over});
  Outcome outcome = reported(chosen.report);
  if (!command.json.empty()) deliver(command.json, to_json(chosen.first), outcome);
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
      &supervisor);
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

Outcome measure_library(const LibraryCommand& command, Supervisor& supervisor) {
  if (!started_by_mpirun())
    throw InputError("library measure", "this process was not started by mpirun",
                     "use mpirun -n 4 chorale library measure ...");
  const std::unique_ptr<AnswerFile> file = open_answers(command.file, false);
  MeasureOptions options = command.measuring;
  const auto session = join_processes(options.all_own);
  // Measurements are collective, but one process reports.
  if (rank_of(*session) == 0) options.progress = supervisor.doing();
  const std::vector<MeasuredRow> rows = measure(*file, command.place.machine, *session, options);
  if (rank_of(*session) != 0) return {};
  return reported(report_of(rows, options));
}

using Action = Outcome (*)(const LibraryCommand&, Supervisor&);

void accept(Invocation& parsed, const std::shared_ptr<LibraryCommand>& options, Action action) {
  parsed.perform = [options, action](Supervisor& supervisor) { return action(*options, supervisor); };
}

// What all actions but build and merge begin with.
std::shared_ptr<LibraryCommand> file_of(CLI::App* sub, Invocation& parsed, Action action) {
  auto options = std::make_shared<LibraryCommand>();
  sub->final_callback([options, action, &parsed] { accept(parsed, options, action); });
  argument(sub, "file", options->file, "FILE", "A library");
  return options;
}

// Which ranks of the machine, and which root. Ranks are kept as files have them: "0,8" becomes "0 8".
void place_options(CLI::App* sub, AnswerPlace& place) {
  text(sub, "--group", place.group, "GROUP",
       "Of which ranks: a level of the machine, pairs, or all; of export also several, as node,all (all)");
  value(sub, "--ranks", "N,N,...", "Of these ranks of the machine, which is built again",
        [&place](const Text& t) {
          place.members = t;
          std::ranges::replace(place.members, ',', ' ');
          if (place.members.find_first_not_of("0123456789 ") != Text::npos)
            throw InputError("--ranks", "'" + t.substr(0, 60) + "' is not a list of ranks",
                             "write 0,8,16,24");
        });
  integer(sub, "--root", place.root, 0, kMostRank, "N", "Of a collective that has one (0)");
}

// Specifications refuse "free" (jobs/library_spec.cpp), so it is no choice here.
void order_option(CLI::App* sub, std::optional<SumOrder::Kind>& order) {
  choice<std::optional<SumOrder::Kind>>(
      sub, "--order", order, {{"agreed", SumOrder::Kind::Agreed}, {"fixed", SumOrder::Kind::Fixed}},
      "Of sums: only algorithms that were searched so; fixed ones give the same bits for each size (either)");
}

void build_options(CLI::App* app, Invocation& parsed) {
  CLI::App* const sub = command(
      *app, "build", "Search for all that a file asks for, and keep the answers",
      "Each answer is kept when it is there: a build that was ended, however it was, goes on where it was.\n"
      "exit codes: 0 all answered, 3 some not, 130 interrupted, 2 bad input\n"
      "example:\n  chorale library build examples/library.json -o mine.db --jobs 2");
  auto options = std::make_shared<LibraryCommand>();
  argument(sub, "spec", options->spec, "SPEC", "What to search for (docs/formats.md)");
  text(sub, "-o,--output", options->file, "FILE", "The library, made if it is not there");
  integer(sub, "--failures", options->failures, 0, 1, "N",
          "1: also for each machine after the failure of any one link, NIC, switch port or rank (0)");
  integer(sub, "--jobs", options->jobs, 1, 256, "J", "Processes side by side, which share the memory (1)");
  limits(sub, parsed.limits, " and keep what was answered");
  progress(sub, parsed.progress);
  sub->final_callback([options, &parsed] {
    // -o is required, but CLI11's own error would not state a remedy.
    if (options->file.empty()) throw InputError("-o", "is missing", "name the library's file");
    accept(parsed, options, build);
  });
}

void merge_options(CLI::App* app, Invocation& parsed) {
  CLI::App* const sub = command(
      *app, "merge", "Merge libraries; two answers to a question become one, as good as both",
      "Better is what is complete, what no schedule of the other one beats, what more is proven of.\n" +
          kPlainExitCodes +
          "examples:\n  chorale frontier ring:4 allgather --library other.db\n"
          "  chorale library merge mine.db other.db -o all.db");
  auto options = std::make_shared<LibraryCommand>();
  argument(sub, "files", options->files, "FILE...", "Libraries");
  text(sub, "-o,--output", options->output, "FILE", "Where to write all of it");
  limits(sub, parsed.limits, "");
  sub->final_callback([options, &parsed] {
    if (options->output.empty()) throw InputError("-o", "is missing", "name the file to write");
    accept(parsed, options, merge);
  });
}

template <typename Target>
void carrier(CLI::App* app, Target& over, const Text& help) {
  choice<Target>(app, "--over", over, {{"mpi", MeasuredOver::Mpi}, {"nccl", MeasuredOver::Nccl}}, help);
}

// Files of programs that choose among algorithms of their own (python/chorale/tuning_files.py).
constexpr std::array kRuleFiles = {"nccl-tuner", "nccl-tuner-plugin", "ncclx-csv", "ompi-rules",
                                   "ompi-json",  "mpich-json",        "ucc-tune"};

// Sizes are dense here, since a plan is written for each range in which one point is the fastest: the borders
// are as exact as the sizes.
void export_options(CLI::App* app, Invocation& parsed) {
  CLI::App* const sub = command(
      *app, "export", "Write what is in a library for other programs",
      "mscclpp, msccl-xml: plans, each for the sizes of messages at which it is the fastest.\n"
      "nccl-tuner, nccl-tuner-plugin, ncclx-csv: ring or tree of NCCL, as rows for its example of a\n"
      "tuner plugin, as such a plugin in C, as rows for NCCLX.\n"
      "ompi-rules, ompi-json, mpich-json, ucc-tune: which of its own algorithms Open MPI (4.1 to 6; 6),\n"
      "MPICH or UCC takes at each size, by 'library measure --own all' or else by predictions.\n"
      "preload: results for CHORALE_ALGORITHMS.\n"
      "times, pipelined-times: what all that and baselines should take, and what was measured.\n"
      "mpi, nccl: of each collective one program, which chooses by size and by what has failed.\n"
      "cuda: of each collective a directory; its library for vLLM and SGLang chooses by both.\n" +
          kPlainExitCodes +
          "examples:\n  chorale library export mine.db dgx-a100:2 allgather --as mscclpp -o plans\n"
          "  chorale library export ready.db torus:2x4 allgather --as mpi -o programs\n"
          "  chorale library export four.db ring:4 allreduce allgather --as ompi-rules -o rules");
  auto options = file_of(sub, parsed, exported);
  argument(sub, "machine", options->place.machine, "MACHINE", "As it was named when the library was built");
  argument(sub, "collectives", options->collectives, "COLLECTIVE...", "Of " + joined(collective_names()));
  std::vector<Text> known;
  for (const Named<ExportForm>& each : export_forms()) known.emplace_back(each.name);
  known.insert(known.end(), kRuleFiles.begin(), kRuleFiles.end());
  one_of(sub, "--as", known, "The program that reads it (mscclpp)", [options, known](std::size_t i) {
    if (i < export_forms().size())
      options->form = export_forms()[i].value;
    else
      options->rules = known[i];
  });
  directory_to_write(sub, "-o,--output", options->output, "Where to write; made if it is not there");
  place_options(sub, options->place);
  order_option(sub, options->order);
  options->bytes = {};
  for (std::int64_t size = 1 << 10; size <= 1 << 30; size *= 2) options->bytes.push_back(size);
  rising_sizes(sub, options->bytes, "Message sizes to compare at (1K:1G:2)");
  limits(sub, parsed.limits, "");
  sub->final_callback([options, &parsed] {
    if (options->output.empty()) throw InputError("-o", "is missing", "name the directory to write to");
    accept(parsed, options, exported);
  });
}

}  // namespace

void library_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "library", "Answers for many machines, groups and collectives, in one file",
              kPlainExitCodes +
                  "examples:\n  chorale library build examples/library.json -o mine.db\n"
                  "  chorale library show mine.db");
  sub->require_subcommand(1);
  build_options(sub, parsed);
  merge_options(sub, parsed);
  export_options(sub, parsed);

  CLI::App* const show =
      command(*sub, "show", "List what is in a library",
              kPlainExitCodes + "example:\n  chorale library show mine.db --html mine.html");
  auto shown = file_of(show, parsed, list_entries);
  file_to_write(
      show, "--html", shown->html,
      "Write a page: what is chosen at each size, how far it is from its bound, where measurements disagree");
  limits(show, parsed.limits, "");

  CLI::App* const failures =
      command(*sub, "failures", "What is left of the rate after each failure that a library was built for",
              kPlainExitCodes +
                  "examples:\n  chorale library build examples/failures.json --failures 1 -o ready.db\n"
                  "  chorale library failures ready.db");
  auto listed = file_of(failures, parsed, list_failures);
  file_to_write(failures, "--json", listed->json, "Write the table there");
  limits(failures, parsed.limits, "");

  CLI::App* const verify =
      command(*sub, "verify", "Check every answer again, trusting nothing in the file",
              "exit codes: 0 all accepted, 2 a fault or bad input, 3 undecided within the limits, "
              "130 interrupted\nexample:\n  chorale library verify mine.db");
  auto verified = file_of(verify, parsed, verify_answers);
  conflicts(verify, verified->conflicts);
  limits(verify, parsed.limits, " and report what was checked");
  progress(verify, parsed.progress);

  CLI::App* const select = command(
      *sub, "select", "The fastest algorithm of a library for a call",
      kPlainExitCodes +
          "example:\n  chorale library select mine.db dgx-a100:2 allgather --group node --sizes 1K:1G:1024");
  auto selected = file_of(select, parsed, choose);
  argument(select, "machine", selected->place.machine, "MACHINE",
           "As it was named when the library was built");
  argument(select, "collective", selected->place.collective, "COLLECTIVE",
           "One of " + joined(collective_names()));
  place_options(select, selected->place);
  order_option(select, selected->order);
  sizes(select, selected->bytes, "For messages of these sizes: 64K, 1K,3000, or from:to:factor (1M)");
  carrier(select, selected->over, "Which measured times decide, if there are both");
  file_to_write(select, "--json", selected->json,
                "Write the result of the first size's algorithm there, for emit, run and show");
  limits(select, parsed.limits, "");

  CLI::App* const measure = command(
      *sub, "measure", "Time the algorithms of a library beside MPI's or NCCL's own, and keep the times",
      "Under mpirun, rank n for rank n of the machine; groups of one level at once, as programs use them.\n"
      "What was measured decides in 'select' and in preloaded programs.\n" +
          kPlainExitCodes +
          "example:\n  mpirun --oversubscribe -n 4 chorale library measure four.db ring:4 --sizes 1K,64K");
  auto measured = file_of(measure, parsed, measure_library);
  MeasureOptions& measuring = measured->measuring;
  argument(measure, "machine", measured->place.machine, "MACHINE",
           "As it was named when the library was built");
  sizes(measure, measuring.bytes,
        "Messages of these sizes: 64K, 1K,3000, or from:to:factor (64,1K,16K,256K,1M)");
  carrier(measure, measuring.over,
          "What carries the messages; with nccl each process has a GPU of its host, round-robin (mpi)");
  choice<bool>(measure, "--own", measuring.all_own, {{"chosen", false}, {"all", true}},
               "Of MPI's own: as it chooses, or also each algorithm that its settings can force (chosen)");
  integer(measure, "--rounds", measuring.rounds, 1, 10'000, "N",
          "Repetitions; each measures all, round-robin (5)");
  integer(measure, "--times", measuring.times, 1, 100'000, "N", "Each, in a round (10)");
  duration(measure, "--wait", measuring.timeout, "Give up when a rank waits longer than T (60)");
  limits(measure, parsed.limits, " and keep what was measured");
  progress(measure, parsed.progress);
  measure->final_callback([measured, &parsed] {
    if (measured->measuring.all_own && measured->measuring.over == MeasuredOver::Nccl)
      throw InputError("--own", "NCCL's algorithms cannot be forced one by one", "measure --over mpi");
    accept(parsed, measured, measure_library);
  });
}

}  // namespace chorale
