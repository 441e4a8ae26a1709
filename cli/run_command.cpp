// Executes points of a result; under mpirun every process comes through here and one of them prints. All have
// the same points and sizes in the same order, since each measurement is a collective call.
#include <fmt/format.h>

#include <map>

#include "api/inputs.h"
#include "api/run.h"
#include "cli/inputs.h"
#include "cli/launcher.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "library/select.h"

namespace chorale {

struct RunCommand {
  std::string file = {};
  Executor transport = Executor::Threads;
  RunOptions options = {.bytes = {1 << 10, 32 << 10, 1 << 20}, .iterations = 5, .warm_up = 1};
  bool in_place = false;
  std::string epilogue = {};      // a file; empty: none
  std::optional<int> point = {};  // none: for each size the one that should be the fastest
  bool all_points = false;        // those on the frontier
};
namespace {

// The least and the most (R) are left out first where the terminal is narrow.
constexpr const char* kAlignment = "rrllrRRrrr";

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
  return fmt::format("{}, {}: {} as {}{}{}\n", result.topology.name, name_of(result.collective),
                     counted(result.topology.ranks, "rank"), entry_of(command.transport).ranks,
                     command.in_place ? ", in place" : "",
                     command.epilogue.empty() ? "" : ", sums followed by " + shown(command.epilogue));
}

// What was measured is published after each point: a limit prints the table so far.
Outcome run_all(const RunCommand& command, const Result& result, MpiSession* session,
                Supervisor& supervisor) {
  TableRows table_rows = {
      {"point", "message bytes", "type", "op", "time (us)", "min", "max", "GB/s", "busbw", "wrong"}};
  const Epilogue epilogue = command.epilogue.empty()
                                ? Epilogue()
                                : epilogue_from_json(read_file(command.epilogue), command.epilogue);
  Tally tally;
  RunOptions options = command.options;
  for (const auto& [i, sizes] : work(command, result)) {
    options.bytes = sizes;
    const std::vector<RunRow> rows = run(result.topology, result.points[i],
                                         {.executor = command.transport,
                                          .in_place = command.in_place,
                                          .session = session,
                                          .epilogue = epilogue},
                                         options);
    for (const RunRow& row : rows) {
      table_rows.push_back({std::to_string(i), std::to_string(row.buffer_bytes), to_string(row.type),
                            adds(result.collective) ? to_string(row.op) : "-",
                            fmt::format("{:.1f}", row.median_us), fmt::format("{:.1f}", row.min_us),
                            fmt::format("{:.1f}", row.max_us), fmt::format("{:.3f}", row.algbw),
                            fmt::format("{:.3f}", row.busbw), std::to_string(row.wrong)});
      tally.add(row);
    }
    supervisor.publish(
        [text = heading(command, result) + table(table_rows, kAlignment)](Stopped stopped) -> Outcome {
          return {.exit_code = exit_code_of(stopped),
                  .text = text + "not all was run (" + name_of(stopped) + ")\n"};
        });
  }
  // All ranks have the rows of all, so all end with one exit code; one prints.
  Outcome outcome{.exit_code = tally.is_good(result.collective) ? kFound : kWrongData};
  if (session == nullptr || rank_of(*session) == 0)
    outcome.text = heading(command, result) + table(table_rows, kAlignment) +
                   (tally.wrong == 0 ? "every element is right\n" : "") + tally.faults();
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
  limits(sub, parsed.limits, " and print what was measured", Limits::kAllMemory);
}

}  // namespace chorale
