// Tensor programs: transformed, tuned, compiled. The search over schedules may end complete, by its own limit
// of candidates, or by a limit of the command; a schedule that failed when it was measured is a wrong answer
// of ours, and decides the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/inputs.h"
#include "api/workload.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {

// Where a workload is to run, and by which algorithms.
struct WorkloadTarget {
  std::string machine = {};
  MachineChanges changes = {};
  std::vector<std::string> algorithms = {};  // result files, instead of a search
  int max_chunks = 2;                        // of a search
  std::string order = "agreed";              // of sums
};

struct TransformCommand {
  WorkloadInput workload = {};
  std::string output = {};  // "": printed
};

struct CompileCommand {
  WorkloadInput workload = {};
  WorkloadTarget target = {};
  WorkloadCarrier carrier = WorkloadCarrier::Any;
  bool tunes = false;
  TuneQuestion tune = {};  // of the log only the path
  std::string directory = {};
};

struct TuneCommand {
  WorkloadInput workload = {};
  WorkloadTarget target = {};
  TuneQuestion tune = {};  // of the log only the path
  int top = 20;
  std::string json = {};
  std::string html = {};
};

namespace {

// What 'tune' and 'compile --tune' share: algorithms for the communications, and the tuner with its log.

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

// What there is without a search; nothing if some communication has no algorithm then.
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
  // Without a limit each search ends by its effort.
  if (options.time_limit.count() < 0) options.effort = kUsualEffort;
  if (ProgressLine& line = supervisor.progress(); line.wanted())
    options.progress = [&line](const Progress& progress) { line.show(progress.doing); };
  return algorithms_for(topology, workload, search, known_results(target), options, target.order);
}

// Schedules that failed during measurement, a line each; named by the transformations that make them.
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

Outcome outcome_of(const TuneCommand& command, const TuneResult& result, Stopped stopped) {
  Outcome outcome = reported(report_of(result, command.top));
  outcome.exit_code = result.end == TuneEnd::Complete ? kFound
                      : stopped != Stopped::No        ? exit_code_of(stopped)
                                                      : kUndecided;
  outcome.errors = failures(result);
  // After the limits: a schedule that computes something else is worse than a search that was cut.
  if (!outcome.errors.empty()) outcome.exit_code = kWrongData;
  if (!command.json.empty()) deliver(command.json, to_json(result), outcome);
  if (!command.html.empty()) deliver(command.html, to_page(result), outcome);
  return outcome;
}

// The program as it was given is an answer from the first moment.
void publish_as_given(const TuneCommand& command, const Workload& workload, Supervisor& supervisor) {
  supervisor.await_first_answer();
  const std::optional<WorkloadMachine> machine = quick_machine_for(workload, command.target);
  if (!machine) return supervisor.publish({});
  TuneQuestion alone{.device = command.tune.device, .most_candidates = 0};
  supervisor.publish([&command, result = tune(workload, *machine, alone)](Stopped stopped) {
    return outcome_of(command, result, stopped);
  });
}

}  // namespace

Outcome perform(const TuneCommand& command, Supervisor& supervisor) {
  require_writable_file("--log", command.tune.log.path);
  const Workload workload = read_workload(command.workload);
  publish_as_given(command, workload, supervisor);
  const WorkloadMachine machine =
      machine_for(workload, command.target, WorkloadSearch::Transformed, supervisor);
  const TuneResult result = tuned(workload, machine, command.tune, supervisor);
  return outcome_of(command, result, supervisor.stopped());
}

// Three steps: algorithms for the collectives of the program (a search, or files), perhaps the tuner's choice
// among equivalent programs, and the sources. Files are written at the end, all or none, and listed as they
// are written.

namespace {

constexpr const char* kAsItIs = "the program as it is";

// A row per communication: the point of its frontier that is predicted to be the fastest at its size.
Report report_of(const CompiledWorkload& compiled) {
  Report report;
  if (compiled.chosen.empty()) return report;
  ReportTable& table = report.tables.emplace_back();
  table = {.rows = {{"operation", "collective", "message", "steps", "rounds", "chunks", "should take"}},
           .kinds = "llrrrrr"};
  for (const ChosenAlgorithm& each : compiled.chosen)
    table.rows.push_back({each.operation, each.collective, format_bytes(each.message_bytes),
                          fmt::format("{}", each.cost.steps), fmt::format("{}", each.cost.rounds),
                          fmt::format("{}", each.cost.chunks), format_us(each.us)});
  return report;
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

// `chosen` says how the program was changed, and is executed.
Outcome outcome_of(CompiledWorkload compiled, const std::string& directory,
                   const std::vector<std::string>& chosen, Stopped why) {
  Report report = report_of(compiled);
  report.sentences = chosen;
  for (NamedText& file : compiled.files) {
    file.path = directory + "/" + file.path;
    report.sentences.push_back(file.path);
  }
  if (why != Stopped::No)
    report.sentences.push_back("cut short (" + name_of(why) + "): there may be better ones");
  Outcome outcome = reported(report);
  outcome.exit_code = exit_code_of(why);
  outcome.files = std::move(compiled.files);
  return outcome;
}

// The program as it was given, with what there is without a search, is an answer from the first moment.
void publish_as_given(const CompileCommand& command, const Workload& workload, const std::string& directory,
                      Supervisor& supervisor) {
  supervisor.await_first_answer();
  const std::optional<WorkloadMachine> machine = quick_machine_for(workload, command.target);
  if (!machine) return supervisor.publish({});
  supervisor.publish([directory, chosen = std::vector<std::string>(command.tunes ? 1 : 0, kAsItIs),
                      compiled = compile(workload, *machine, {}, command.carrier)](Stopped stopped) {
    return outcome_of(compiled, directory, chosen, stopped);
  });
}

}  // namespace

Outcome perform(const CompileCommand& command, Supervisor& supervisor) {
  Workload workload = read_workload(command.workload);
  const std::string directory = command.directory.empty() ? workload.name : command.directory;
  // Before the search, which may take hours.
  require_makeable_directory("-o", directory);
  publish_as_given(command, workload, directory, supervisor);
  const WorkloadMachine machine =
      machine_for(workload, command.target,
                  command.tunes ? WorkloadSearch::Transformed : WorkloadSearch::AsIs, supervisor);
  std::vector<std::string> chosen;
  Execution execution;
  std::vector<std::string> errors;
  if (command.tunes) {
    const TuneResult result = tuned(workload, machine, command.tune, supervisor);
    const Candidate& best = result.candidates[result.ranking.front()];
    chosen.push_back(best.script.empty() ? kAsItIs : best.script);
    if (const std::string words = to_string(best.execution); !words.empty()) chosen.push_back(words);
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
  Outcome outcome = outcome_of(std::move(compiled), directory, chosen, stop_reason(machine, supervisor));
  // As of 'tune': a schedule that computes something else is worse than a search that was cut.
  if (!errors.empty()) outcome.exit_code = kWrongData;
  outcome.errors = std::move(errors);
  return outcome;
}

// Prints the program in the form that is read back, so transformations can be applied one command at a time.
Outcome perform(const TransformCommand& command, Supervisor&) {
  const std::string text = to_text(read_workload(command.workload));
  // Lines of a program may not be broken at the width of the terminal.
  Outcome outcome{.verbatim = true};
  if (command.output.empty())
    outcome.text = text;
  else
    deliver(command.output, text, outcome);
  return outcome;
}

namespace {

// A size of the file is set by its name there; whether there is such a name only the parser knows.
void workload(CLI::App* app, WorkloadInput& input) {
  argument(app, "workload", input.file, "FILE", "A tensor program (docs/workloads.md)");
  app->add_option_function<std::vector<Text>>(
         "--set",
         [&input](const std::vector<Text>& values) {
           for (const Text& each : values) {
             const std::size_t at = each.find('=');
             if (at == Text::npos || at == 0)
               throw InputError("--set", "'" + each.substr(0, 60) + "' sets no size",
                                "use NAME=VALUE, such as N=64M");
             input.settings.sizes[each.substr(0, at)] = parse_size("--set", each.substr(at + 1));
           }
         },
         "Sizes instead of those that the file gives (64M is 64 * 1024 * 1024)")
      ->option_text("NAME=VALUE ...");
  integer(app, "--ranks", input.settings.ranks, 1, kMostRank, "P", "Ranks of a group (as in the file, or 2)");
  integer(app, "--groups", input.settings.groups, 1, kMostRank, "G", "Groups (as in the file, or 1)");
}

// Transformations on the command line or in a file, not both.
void script(CLI::App* app, WorkloadInput& input) {
  CLI::Option* const apply = text(app, "--apply", input.script, "SCRIPT",
                                  "Transformations, one after the other: 'split(avg, rs); ...' "
                                  "(docs/workloads.md, 'Transformations')");
  text(app, "--script", input.script_file, "FILE", "A file with them")->excludes(apply);
}

// Where the program runs and by which algorithms, for compile and tune alike.
void target(CLI::App* app, Invocation& parsed, WorkloadTarget& target) {
  argument(app, "--machine", target.machine, "NAME|FILE",
           "Where the ranks of a group are ('chorale topology list'), or a JSON file");
  machine_changes(app, parsed, {&target.machine}, target.changes);
  text(app, "--algorithms", target.algorithms, "FILE ...",
       "Result files to take algorithms from, instead of a search");
  integer(app, "--max-chunks", target.max_chunks, 1, kMostChunks, "C",
          "Search algorithms that cut a block into at most C chunks (2)");
  CLI::Option* const order = text(
      app, "--order", target.order, "ORDER",
      "Of sums: agreed, all ranks get the same bits (the default); fixed, along one tree for all "
      "collectives, sizes and runs; by-index, along that of pairs, pairs of pairs, ..., so that 1, 2, 4, ... "
      "ranks get the same bits; or a tree, such as '((0 1) (2 3))'");
  sum_once(app, order, target.order);
  progress(app, parsed.progress);
}

}  // namespace

void transform_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "transform", "Apply transformations to a tensor program, and print what comes out",
              kPlainExitCodes +
                  "examples:\n  chorale transform examples/adam.chorale\n"
                  "  chorale transform examples/sgd.chorale --apply 'split(sum, rs)'");
  auto options = values_of<TransformCommand>(sub, parsed);
  workload(sub, options->workload);
  script(sub, options->workload);
  file_to_write(sub, "-o,--output", options->output, "Write it there");
  limits(sub, parsed.limits, "");
}

// Options of the tuner are rows (api/workload.h), and mean nothing without --tune.
void compile_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "compile", "Write a tensor program as C++ for a machine, with algorithms synthesized for it",
      "What is written runs over MPI, on threads of one process, with all ranks on one GPU,\n"
      "and with a GPU each over NCCL, by the target of 'make'; and is a library for PyTorch.\n"
      "Collectives are searched on the machine, and each operation takes the point of the frontier\n"
      "that is the fastest at its size.\n"
      "exit codes: 0 done, 1 done, but a schedule failed when it was measured, 2 bad input, 3 done with "
      "what\n"
      "a limit has left, 130 interrupted\n"
      "examples:\n  chorale compile examples/adam.chorale --machine ring:4 -o adam\n"
      "  chorale compile examples/sgd.chorale --machine ring:4 --tune --set N=64M");
  auto options = std::make_shared<CompileCommand>();
  workload(sub, options->workload);
  script(sub, options->workload);
  target(sub, parsed, options->target);
  choice<WorkloadCarrier>(sub, "--target", options->carrier, kWorkloadCarriers,
                          "Write what one of them needs, with a Makefile for it (all of them)");
  sub->add_flag("--tune", options->tunes,
                "Take the schedule that the tuner finds best ('chorale tune --help')");
  by_rows(sub, tune_rows(), options->tune);
  text(sub, "-o,--output", options->directory, "DIR", "Write it there (a directory of the workload's name)");
  limits(sub, parsed.limits, " of the search and take what was found");
  sub->final_callback([options, sub, &parsed] {
    // An option of the tuner without --tune would be ignored, so it is refused.
    for (const OptionRow<TuneQuestion>& row : tune_rows())
      only_for(sub, {Text(row.words.option)}, options->tunes, "--tune");
    // What is written for one of them is measured there, unless specified otherwise.
    if (sub->count("--transport") == 0 &&
        (options->carrier == WorkloadCarrier::Mpi || options->carrier == WorkloadCarrier::Cuda))
      options->tune.transport = options->carrier;
    accept(parsed, options);
  });
}

void tune_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "tune", "Explore the schedules of a tensor program, and rank them by the time that they take",
      "Times are those of a model: arithmetic, memory, launches, and the frontiers of the machine's "
      "collectives;\n"
      "docs/workloads.md, 'The tuner'.\n"
      "exit codes: 0 all schedules seen, 1 one failed when it was measured, 2 bad input, 3 some left out by "
      "a\n"
      "limit, 130 interrupted\n"
      "examples:\n  chorale tune examples/adam.chorale --machine ring:4 --set N=64M\n"
      "  chorale tune examples/mlp.chorale --machine ring:4 --html tuned.html");
  auto options = values_of<TuneCommand>(sub, parsed);
  workload(sub, options->workload);
  script(sub, options->workload);
  target(sub, parsed, options->target);
  by_rows(sub, tune_rows(), options->tune);
  integer(sub, "--top", options->top, 1, 1'000'000, "N", "Schedules to list (20)");
  file_to_write(sub, "--json", options->json, "Write all of them there");
  file_to_write(sub, "--html", options->html,
                "Write a page that shows the search: the tree of schedules, and why the best one wins");
  limits(sub, parsed.limits, " and rank what was seen");
}

}  // namespace chorale
