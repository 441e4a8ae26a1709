// Schedules and programs, executed or simulated.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "api/inputs.h"
#include "api/run.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/python_command.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/run_options.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "jobs/simulate.h"
#include "library/select.h"

namespace chorale {

// Executes points of a result; under mpirun every process comes through here and one of them prints. All have
// the same points and sizes in the same order, since each measurement is a collective call.

struct RunCommand {
  std::string file = {};
  Executor transport = Executor::Threads;
  RunOptions options = {.bytes = {1 << 10, 32 << 10, 1 << 20}, .iterations = 5, .warm_up = 1};
  bool in_place = false;
  std::string epilogue = {};      // a file; empty: none
  std::optional<int> point = {};  // none: for each size the one that should be the fastest
  bool all_points = false;        // those on the frontier
  std::string html = {};
};
namespace {

// Which point runs which sizes, of blocks. Without --point a size goes to the point that is predicted to be
// the fastest, so that points which win nowhere are not run.
std::map<int, std::vector<std::int64_t>> work(const RunCommand& command, const Result& result) {
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, false);
  if (chosen.empty()) throw InputError(command.file, "has no schedules", "make a result that has some");
  std::map<int, std::vector<std::int64_t>> sizes;
  const std::vector<std::int64_t> blocks = by_messages(command.options, result.collective).bytes;
  if (command.point || command.all_points) {
    for (int i : chosen) sizes[i] = blocks;
    return sizes;
  }
  for (const std::int64_t bytes : blocks)
    sizes[select({&result, 1}, call_of(result.collective, static_cast<double>(bytes))).value().point]
        .push_back(bytes);
  return sizes;
}

std::string heading(const RunCommand& command, const Result& result) {
  return fmt::format("{}, {}: {} as {}{}{}{}", result.topology.name, name_of(result.collective),
                     counted(result.topology.ranks, "rank"), entry_of(command.transport).ranks,
                     command.in_place ? ", in place" : "", on_wire_words(command.options),
                     command.epilogue.empty() ? "" : ", sums followed by " + shown(command.epilogue));
}

// What was measured is published after each point: a limit prints the table so far.
Outcome run_all(const RunCommand& command, const Result& result, MpiSession* session,
                Supervisor& supervisor) {
  const Epilogue epilogue = command.epilogue.empty()
                                ? Epilogue()
                                : epilogue_from_json(read_file(command.epilogue), command.epilogue);
  std::vector<RunRow> rows;
  std::vector<int> points;  // of the rows
  const auto report = [&command, &result](const std::vector<RunRow>& rows, const std::vector<int>& points) {
    return report_of(rows, result.collective, heading(command, result), points);
  };
  RunOptions options = command.options;
  for (const auto& [i, sizes] : work(command, result)) {
    options.bytes = sizes;
    std::ranges::move(run(result.topology, result.points[i],
                          {.executor = command.transport,
                           .in_place = command.in_place,
                           .session = session,
                           .epilogue = epilogue},
                          options),
                      std::back_inserter(rows));
    points.resize(rows.size(), i);
    supervisor.publish([&command, report, rows, points](Stopped stopped) {
      Report known = report(rows, points);
      known.sentences.clear();
      return reported(known, stopped, "not all was run", command.html);
    });
  }
  // All ranks have the rows of all, so all end with one exit code; one prints.
  Outcome outcome;
  if (session == nullptr || rank_of(*session) == 0) outcome = reported(report(rows, points), command.html);
  outcome.exit_code = tally_of(rows).is_good(result.collective) ? kFound : kWrongData;
  return outcome;
}

}  // namespace

Outcome perform(const RunCommand& command, Supervisor& supervisor) {
  const Result result = read_sound_result(command.file);
  const ExecutorEntry& executor = entry_of(command.transport);
  // Threads and single GPUs have all ranks in this process, and need no session.
  if (!executor.many_processes) return run_all(command, result, nullptr, supervisor);
  if (!started_by_mpirun())
    throw InputError(fmt::format("--transport {}", executor.name), "this process was not started by mpirun",
                     fmt::format("use mpirun -n {} chorale run ...", result.topology.ranks));
  return run_all(command, result, join_processes().get(), supervisor);
}

void run_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "run", "Execute schedules on real data and check every element",
              "exit codes: 0 all elements right, 1 some wrong, 2 bad input, 3 out of time or memory, 130 "
              "interrupted\n"
              "examples:\n  chorale run f.json --sizes 1K:64M:4\n"
              "  mpirun --oversubscribe -n 8 chorale run f.json --transport mpi --point all");
  auto options = values_of<RunCommand>(sub, parsed);
  argument(sub, "result", options->file, "RESULT", "A result file");
  sizes(sub, options->options.bytes,
        "Sizes of messages, as nccl-tests counts them: 64K, a list 1K,3000,1M, or a range from:to:factor "
        "(1K:1M:32)");
  std::vector<std::pair<Text, Executor>> executors;
  std::vector<Text> ranks;
  for (const ExecutorEntry& each : known_executors()) {
    executors.emplace_back(each.name, each.executor);
    ranks.emplace_back(each.ranks);
  }
  choice<Executor>(sub, "--transport", options->transport, executors,
                   "What ranks are: " + joined(ranks) + " (threads)");
  types_and_ops(sub, options->options);
  by_rows(sub, run_rows(), options->options);
  sub->add_flag("--in-place", options->in_place,
                "Input and output share memory, as NCCL and MPI_IN_PLACE have it");
  text(sub, "--epilogue", options->epilogue, "FILE",
       "A function that follows every sum (docs/formats.md, 'An epilogue'), over tensors of test numbers");
  value(sub, "--point", "N|all",
        "The point of this number, or all of the frontier (for each size the one that should be the fastest)",
        [options](const Text& t) {
          options->all_points = t == "all";
          if (!options->all_points)
            options->point = static_cast<int>(parse_integer("--point", t, 0, INT_MAX));
        });
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, parsed.limits, " and print what was measured", Limits::kAllMemory);
}

// A program is verified out of place and in place, as far as it claims each, before it is estimated or run in
// that mode. Verification goes through queue depths (1, 2, 4, 8): a program that is right only with deep
// queues hangs in an executor with shallow ones, so the least depth is reported.

struct ProgramCommand {
  std::string file = {};
  std::string collective = {};  // a file, of what a program promises that does not say it
  RunOptions options = {.bytes = {}, .iterations = 5, .warm_up = 1};  // without sizes it is not run
  std::string topology = {};    // a machine: estimate instead of running
  MachineChanges changes = {};  // of that machine
  int queue_depth = 2;
  std::string html = {};
};
namespace {

// Instructions are counted by name, which shows at a glance what a foreign program is made of.
std::string summary(const ProgramShape& shape) {
  std::string text = fmt::format(
      "{}: {} over {}{}; {} in all, {}, at most {} each:", shape.name, name_of(shape.collective),
      counted(shape.ranks, "rank"),
      !shape.shared_memory ? ""
      : shape.ports == 0   ? " in shared memory"
                         : fmt::format(" in shared memory and over {}", counted(shape.ports, "port channel")),
      counted(shape.blocks, "block"),
      shape.shared_memory ? counted(shape.counters, "counter") : counted(shape.channels, "channel"),
      counted(shape.longest, "instruction"));
  for (const auto& [kind, count] : shape.instructions) text += fmt::format(" {} {}", count, kind);
  if (shape.pieces > 1) text += fmt::format("\na chunk of the file is {} of these chunks", shape.pieces);
  for (const std::string& note : shape.notes) text += "\nnote: " + note;
  return text;
}

// The predicted time of the program on the requested machine; without sizes, of one message of 1 MiB. The
// busiest link or port shows what binds; the rest of the time is latency and waiting.
void add_estimate(const ProgramCommand& command, const LoweredProgram& program, const char* mode,
                  Report& report) {
  const Topology topology = machine(command.topology, command.changes);
  ReportTable table{.title = mode,
                    .rows = {{"message bytes", "estimate (us)", "GB/s", "busbw", "busiest", "in use (us)"}},
                    .kinds = "rrrrlr"};
  const MessageShape message = message_shape(program.shape().collective);
  bool links_chosen = false;
  for (std::int64_t bytes :
       command.options.bytes.empty() ? std::vector<std::int64_t>{1 << 20} : command.options.bytes) {
    const ProgramTime time =
        program.time(topology, static_cast<double>(block_of_size(message, bytes)), command.queue_depth);
    const double rate = algbw_gbs(static_cast<double>(bytes), time.us);
    table.rows.push_back({std::to_string(bytes), fmt::format("{:.2f}", time.us), fmt::format("{:.4g}", rate),
                          fmt::format("{:.4g}", rate * message.bus_factor), time.busiest,
                          fmt::format("{:.2f}", time.busiest_us)});
    links_chosen = links_chosen || time.links_chosen;
  }
  report.tables.push_back(std::move(table));
  if (links_chosen)
    report.sentences.emplace_back(
        "links: the file names none; of parallel links each message takes the one on which it arrives first");
}

// What is known so far.
void publish(Supervisor& supervisor, const ProgramCommand& command, const Report& report) {
  supervisor.publish([&command, report](Stopped stopped) {
    return reported(report, stopped, "not all was done", command.html);
  });
}

// Verifies one mode, then estimates or runs it. An exit code that is not that of success ends the command.
int examine(const ProgramCommand& command, const LoweredProgram& program, const RunOptions& options,
            bool in_place, Supervisor& supervisor, Report& report) {
  const ProgramShape& shape = program.shape();
  const bool queues = !shape.shared_memory;
  const char* const mode = in_place ? "in place" : "out of place";
  const ProgramVerdict verdict = program.verdict(in_place);
  // A program of MSCCL++ that is right only under a condition is neither wrong nor right: an exit code of its
  // own.
  if (!verdict.condition.empty()) {
    report.sentences.push_back(
        fmt::format("{}: right only if {}: {}", mode, verdict.condition, verdict.fault));
    return kRightOnlyIf;
  }
  if (!verdict.fault.empty())
    throw InputError(command.file, fmt::format("is wrong {}: {}", mode, verdict.fault), "do not run it");
  report.sentences.push_back(fmt::format(
      "{}: right{}", mode,
      queues ? fmt::format(", with queues of {} or more", counted(verdict.depth, "message")) : ""));
  if (command.options.bytes.empty() && command.topology.empty()) return kFound;
  if (command.queue_depth < verdict.depth)
    throw InputError("--depth", fmt::format("{} is too little, the program hangs", command.queue_depth),
                     fmt::format("use {}", verdict.depth));
  if (!command.topology.empty()) {
    add_estimate(command, program, mode, report);
    return kFound;
  }
  publish(supervisor, command, report);
  try {
    const std::vector<RunRow> rows = program.run(options, in_place, command.queue_depth);
    const Report its = report_of(rows, shape.collective, mode);
    report.tables.push_back(its.tables.front());
    for (const std::string& sentence : its.sentences)
      report.sentences.push_back(fmt::format("{}: {}", mode, sentence));
    return tally_of(rows).is_good(shape.collective) ? kFound : kWrongData;
  } catch (const Hang& hang) {
    throw InputError(command.file, hang.what(), queues ? "raise --wait or --depth" : "raise --wait");
  }
}

}  // namespace

// What is known so far grows with each mode, and is what a limit prints.
Outcome perform(const ProgramCommand& command, Supervisor& supervisor) {
  const PromisedOf promised = [&](int ranks) {
    return collective_from_json(read_file(command.collective), command.collective, ranks);
  };
  const std::unique_ptr<LoweredProgram> program = lowered_program(
      read_file(command.file), command.file, command.collective.empty() ? PromisedOf() : promised);
  const ProgramShape& shape = program->shape();
  // A program in shared memory has counters and no queues, so neither a depth nor a least one.
  if (!shape.shared_memory || !command.options.bytes.empty())
    require_sums_of_halves(command.options, shape.collective);
  require_wire(command.options, shape.collective, "lowered programs");
  const RunOptions options = by_messages(command.options, shape.collective);
  Report report{.title = shape.name, .tables = {{.title = summary(shape)}}};
  publish(supervisor, command, report);
  int code = kFound;
  for (const bool in_place : {false, true})
    if (code == kFound && (in_place ? shape.in_place : shape.out_of_place))
      code = examine(command, *program, options, in_place, supervisor, report);
  Outcome outcome = reported(report, command.html);
  outcome.exit_code = code;
  return outcome;
}

// `program` verifies any lowered program, so it asks for no point and no collective.
void program_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "program", "Verify a lowered program, Chorale's or another's, and run it",
      "FILE is MSCCL XML, what 'emit --target json' writes, or an execution plan "
      "of MSCCL++. Every mode that it claims is verified: the first two with "
      "queues of 1, 2, 4 and 8 messages, a plan for launches in a row.\n"
      "exit codes: 0 right, 1 some element wrong, 2 bad input or a wrong "
      "program, 3 out of time or memory, 4 right only if relaxed signals order data, or launches wait for "
      "proxies, 130 interrupted\n"
      "examples:\n"
      "  chorale classic ring_allreduce ring:4 --json ring.json\n"
      "  chorale emit ring.json\n"
      "  chorale program ring_4_allreduce_0.xml --sizes 1K:1M:32\n"
      "  chorale program ring_4_allreduce_0.xml --topology ring:4");
  auto options = std::make_shared<ProgramCommand>();
  argument(sub, "file", options->file, "FILE", "A program");
  text(sub, "--collective", options->collective, "FILE",
       "What it promises, a collective in JSON, where the program names none ('custom')");
  sizes(sub, options->options.bytes,
        "Run it on threads with messages of these sizes: 64K, 1K,3000,1M, or 1K:1M:32");
  text(sub, "--topology", options->topology, "MACHINE",
       "Estimate its time there instead of running it, link by link; 1M if there is no --sizes");
  machine_changes(sub, parsed, {&options->topology}, options->changes);
  types_and_ops(sub, options->options);
  integer(sub, "--depth", options->queue_depth, 1, 64, "N", "Messages that a queue holds when it runs (2)");
  by_rows(sub, run_rows(), options->options);
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, parsed.limits, " and report what was verified");
  sub->final_callback([sub, options, &parsed] {
    only_for(sub, {"--type", "--op", "--accumulate", "--wire", "--depth", "--iterations", "--warmup"},
             !options->options.bytes.empty() && options->topology.empty(),
             "runs, with --sizes and without --topology");
    accept(parsed, options);
  });
}

// Rows come from the simulator one at a time and are published as they come, so a limit keeps those that were
// simulated.

struct SimulateCommand {
  std::string file = {};
  std::optional<int> point = {};  // none: those on the frontier
  std::vector<std::int64_t> sizes = SimulateQuestion().message_bytes;
  std::string json = {}, html = {};
};
namespace {

// The same text at the end and where a limit ends the command, with what there is by then.
Outcome reported(const SimulateCommand& command, const Result& result, const Simulated& answer,
                 Stopped stopped) {
  Outcome outcome = reported(report_of(result, answer), stopped, "not all was simulated", command.html);
  if (!command.json.empty()) deliver(command.json, to_json(result, answer), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const SimulateCommand& command, Supervisor& supervisor) {
  const Result result = read_sound_result(command.file);
  SimulateQuestion asked{.points = chosen_points(command.file, result, command.point, false),
                         .message_bytes = command.sizes,
                         .written =
                             [&](const std::vector<NamedText>& messages) {
                               return written_for_simulator("simgrid", messages, supervisor).files;
                             },
                         .stop = supervisor.stop()};
  if (asked.points.empty()) throw InputError(command.file, "has no schedules", "make a result that has some");
  // A row per point and size, for the count that the progress line shows.
  const std::size_t all = asked.points.size() * asked.message_bytes.size();
  std::size_t done = 0;
  // A copy for each report, since the watcher may print one while the next row is added.
  Simulated rows;  // until now
  const auto publish = [&] {
    supervisor.publish(
        [&command, &result, rows](Stopped stopped) { return reported(command, result, rows, stopped); });
  };
  publish();
  asked.simulated = [&](const SimulatedRow& row) {
    rows.rows.push_back(row);
    publish();
    supervisor.progress().show(fmt::format("{} of {}: point {}, {}", ++done, all, row.point,
                                           format_bytes(static_cast<double>(row.message_bytes))));
  };
  const Simulated answer = simulate(result, asked);
  supervisor.take_floor();
  // A limit that came after the last time has cut nothing.
  return reported(command, result, answer, answer.rows.size() == all ? Stopped::No : supervisor.stopped());
}

void simulate_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "simulate", "Times by SimGrid, a simulator of others, beside what is predicted",
      "Writes what 'emit --target simgrid' writes into a temporary directory and replays it with "
      "smpirun\n(Debian: libsimgrid-dev). Sizes are those of messages, as nccl-tests counts them.\n"
      "exit codes: 0 simulated, 2 bad input, or no smpirun, 3 out of time or memory, 130 interrupted\n"
      "example:\n  chorale simulate f.json --sizes 1K:64M:8");
  auto options = values_of<SimulateCommand>(sub, parsed);
  argument(sub, "result", options->file, "RESULT", "A result file");
  sizes(sub, options->sizes, "Bytes of messages: 64K, 1K,3000, or from:to:factor (1K:1G:32)");
  only_point(sub, options->point);
  file_to_write(sub, "--json", options->json, "Write the table there");
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, parsed.limits, " and print what was simulated");
  progress(sub, parsed.progress);
}

}  // namespace chorale
