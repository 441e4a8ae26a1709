// A program is verified out of place and in place, as far as it claims each, before it is estimated or run in
// that mode. Verification goes through queue depths (1, 2, 4, 8): a program that is right only with deep
// queues hangs in an executor with shallow ones, so the least depth is reported.
#include <fmt/format.h>

#include <memory>

#include "api/inputs.h"
#include "api/program.h"
#include "api/run.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/run_options.h"
#include "ir/words.h"

namespace chorale {

struct ProgramCommand {
  std::string file = {};
  RunOptions options = {.bytes = {}, .iterations = 5, .warm_up = 1};  // without sizes it is not run
  std::string topology = {};    // a machine: estimate instead of running
  MachineChanges changes = {};  // of that machine
  int queue_depth = 2;
};
namespace {

// Instructions are counted by name, which shows at a glance what a foreign program is made of.
std::string summary(const ProgramShape& shape) {
  std::string text = fmt::format(
      "{}: {} over {}{}; {} in all, {}, at most {} each:", shape.name, name_of(shape.collective),
      counted(shape.ranks, "rank"), shape.shared_memory ? " in shared memory" : "",
      counted(shape.blocks, "block"),
      shape.shared_memory ? counted(shape.counters, "counter") : counted(shape.channels, "channel"),
      counted(shape.longest, "instruction"));
  for (const auto& [kind, count] : shape.instructions) text += fmt::format(" {} {}", count, kind);
  text += "\n";
  if (shape.pieces > 1) text += fmt::format("a chunk of the file is {} of these chunks\n", shape.pieces);
  for (const std::string& note : shape.notes) text += "note: " + note + "\n";
  return text;
}

// Rows as text, and what they came to.
std::pair<std::string, Tally> rows_of(const std::vector<RunRow>& results, bool adds) {
  TableRows rows = {{"message bytes", "type", "op", "time (us)", "GB/s", "busbw", "wrong"}};
  Tally tally;
  for (const RunRow& row : results) {
    rows.push_back({std::to_string(row.buffer_bytes), to_string(row.type), adds ? to_string(row.op) : "-",
                    fmt::format("{:.1f}", row.median_us), fmt::format("{:.3f}", row.algbw),
                    fmt::format("{:.3f}", row.busbw), std::to_string(row.wrong)});
    tally.add(row);
  }
  return {table(rows, "rllrrrr"), tally};
}

// The predicted time of the program on the requested machine; without sizes, of one message of 1 MiB. The
// busiest link or port shows what binds; the rest of the time is latency and waiting.
std::string estimate(const ProgramCommand& command, const LoweredProgram& program) {
  const Topology topology = machine(command.topology, command.changes);
  TableRows rows = {{"message bytes", "estimate (us)", "GB/s", "busbw", "busiest", "in use (us)"}};
  const MessageShape message = message_shape(program.shape().collective);
  bool links_chosen = false;
  for (std::int64_t bytes :
       command.options.bytes.empty() ? std::vector<std::int64_t>{1 << 20} : command.options.bytes) {
    const ProgramTime time =
        program.time(topology, static_cast<double>(block_of_size(message, bytes)), command.queue_depth);
    const double rate = algbw_gbs(static_cast<double>(bytes), time.us);
    rows.push_back({std::to_string(bytes), fmt::format("{:.2f}", time.us), fmt::format("{:.4g}", rate),
                    fmt::format("{:.4g}", rate * message.bus_factor), time.busiest,
                    fmt::format("{:.2f}", time.busiest_us)});
    links_chosen = links_chosen || time.links_chosen;
  }
  return table(rows, "rrrrlr") +
         (links_chosen
              ? "links: the file names none; of parallel links each message takes the one on which it "
                "arrives first\n"
              : "");
}

// What is known so far.
void publish(Supervisor& supervisor, const std::string& text) {
  supervisor.publish([text](Stopped stopped) -> Outcome {
    return {.exit_code = exit_code_of(stopped),
            .text = text + "not all was done (" + name_of(stopped) + ")\n"};
  });
}

}  // namespace

// What is known so far grows with each mode, and is what a limit prints.
Outcome perform(const ProgramCommand& command, Supervisor& supervisor) {
  const std::unique_ptr<LoweredProgram> program = lowered_program(read_file(command.file), command.file);
  const ProgramShape& shape = program->shape();
  // A program in shared memory has counters and no queues, so neither a depth nor a least one.
  const bool queues = !shape.shared_memory;
  if (queues || !command.options.bytes.empty()) require_sums_of_halves(command.options, shape.collective);
  const RunOptions options = by_messages(command.options, shape.collective);
  std::string text = summary(shape);
  publish(supervisor, text);
  for (bool in_place : {false, true}) {
    if (in_place ? !shape.in_place : !shape.out_of_place) continue;
    const char* mode = in_place ? "in place" : "out of place";
    // In this order: wrong or undecided programs are never run, then the estimate, or the run.
    const ProgramVerdict verdict = program->verdict(in_place);
    // A program of MSCCL++ that is right only if relaxed signals order data is neither wrong nor right: an
    // exit code of its own.
    if (verdict.if_relaxed_orders)
      return {.exit_code = kIfRelaxedOrders,
              .text = text +
                      fmt::format("{}: right only if relaxed signals order data: {}\n", mode, verdict.fault)};
    if (!verdict.fault.empty())
      throw InputError(command.file, fmt::format("is wrong {}: {}", mode, verdict.fault), "do not run it");
    text += fmt::format(
        "{}: right{}\n", mode,
        queues ? fmt::format(", with queues of {} or more", counted(verdict.depth, "message")) : "");
    if (command.options.bytes.empty() && command.topology.empty()) continue;
    if (command.queue_depth < verdict.depth)
      throw InputError("--depth", fmt::format("{} is too little, the program hangs", command.queue_depth),
                       fmt::format("use {}", verdict.depth));
    if (!command.topology.empty()) {
      text += estimate(command, *program);
      continue;
    }
    publish(supervisor, text);
    try {
      const auto [rows, tally] =
          rows_of(program->run(options, in_place, command.queue_depth), adds(shape.collective));
      text += rows;
      if (!tally.is_good(shape.collective)) return {.exit_code = kWrongData, .text = text + tally.faults()};
    } catch (const Hang& hang) {
      throw InputError(command.file, hang.what(), queues ? "raise --wait or --depth" : "raise --wait");
    }
  }
  return {.text = text};
}

// `program` verifies any lowered program, so it asks for no point and no collective.
void program_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "program", "Verify a lowered program, Chorale's or another's, and run it",
      "FILE is MSCCL XML, what 'emit --target json' writes, or an execution plan "
      "of MSCCL++. Every mode that it claims is verified: the first two with "
      "queues of 1, 2, 4 and 8 messages, a plan for launches in a row.\n"
      "exit codes: 0 right, 1 some element wrong, 2 bad input or a wrong "
      "program, 3 out of time or memory, 4 right only if relaxed signals order data, 130 interrupted\n"
      "examples:\n"
      "  chorale classic ring_allreduce ring:4 --json ring.json\n"
      "  chorale emit ring.json\n"
      "  chorale program ring_4_allreduce_0.xml --sizes 1K:1M:32\n"
      "  chorale program ring_4_allreduce_0.xml --topology ring:4");
  auto options = std::make_shared<ProgramCommand>();
  argument(sub, "file", options->file, "FILE", "A program");
  sizes(sub, options->options.bytes,
        "Run it on threads with messages of these sizes: 64K, 1K,3000,1M, or 1K:1M:32");
  text(sub, "--topology", options->topology, "MACHINE",
       "Estimate its time there instead of running it, link by link; 1M if there is no --sizes");
  machine_changes(sub, parsed, {&options->topology}, options->changes);
  types_and_ops(sub, options->options);
  integer(sub, "--depth", options->queue_depth, 1, 64, "N", "Messages that a queue holds when it runs (2)");
  by_rows(sub, run_rows(), options->options);
  limits(sub, parsed.limits, " and report what was verified");
  sub->final_callback([sub, options, &parsed] {
    only_for(sub, {"--type", "--op", "--accumulate", "--depth", "--iterations", "--warmup"},
             !options->options.bytes.empty() && options->topology.empty(),
             "runs, with --sizes and without --topology");
    accept(parsed, options);
  });
}

}  // namespace chorale
