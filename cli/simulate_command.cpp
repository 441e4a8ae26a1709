// Rows come from the simulator one at a time and are published as they come, so a limit keeps those that were
// simulated. The text ends with the largest difference to the prediction, of either sign.
#include <fmt/format.h>

#include "api/inputs.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/words.h"
#include "jobs/simulate.h"

namespace chorale {

struct SimulateCommand {
  std::string file = {};
  std::optional<int> point = {};  // none: those on the frontier
  std::vector<std::int64_t> sizes = SimulateQuestion().message_bytes;
  std::string json = {};
};
namespace {

// A row per point and size; the algorithm is left out first where the terminal is narrow.
std::string times_table(const Simulated& answer) {
  TableRows rows = {{"#", "algorithm", "message", "predicted us", "simulated us", "ratio", "busbw GB/s"}};
  for (const SimulatedRow& row : answer.rows)
    rows.push_back({std::to_string(row.point), row.algorithm.empty() ? "-" : row.algorithm,
                    format_bytes(static_cast<double>(row.message_bytes)),
                    fmt::format("{:.6g}", row.predicted_us), fmt::format("{:.6g}", row.simulated_us),
                    row.predicted_us > 0 ? fmt::format("{:.4f}", row.simulated_us / row.predicted_us) : "-",
                    fmt::format("{:.4g}", row.busbw_gbs)});
  return table(rows, "rLrrrrr");
}

// The same text at the end and where a limit ends the command, with what there is by then.
Outcome reported(const SimulateCommand& command, const Result& result, const Simulated& answer,
                 Stopped stopped) {
  Outcome outcome{.exit_code = exit_code_of(stopped),
                  .text = heading(result) + times_table(answer) +
                          fmt::format("{}; the largest difference is {:.3g} %\n",
                                      counted(std::ssize(answer.rows), "time"), most_off_percent(answer)),
                  .notes = answer.notes};
  if (stopped != Stopped::No) outcome.text += "not all was simulated (" + name_of(stopped) + ")\n";
  if (!command.json.empty()) deliver(command.json, to_json(result, answer), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const SimulateCommand& command, Supervisor& supervisor) {
  const Result result = read_sound_result(command.file);
  SimulateQuestion asked{.points = chosen_points(command.file, result, command.point, false),
                         .message_bytes = command.sizes,
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
  limits(sub, parsed.limits, " and print what was simulated");
  progress(sub, parsed.progress);
}

}  // namespace chorale
