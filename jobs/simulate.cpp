// SimGrid replays the messages of a schedule on a platform made of the machine (python/chorale/simgrid.py).
// A point has a temporary directory, and each size a folder in it.
#include "jobs/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "api/compile.h"
#include "api/report.h"
#include "api/work_folder.h"
#include "codegen/simulators/messages.h"
#include "cost/busbw.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/words.h"
#include "semantics/verified.h"

namespace chorale {
namespace {

constexpr const char* kRemedy = "install SimGrid (on Debian: apt-get install libsimgrid-dev)";

// The messages of a schedule one by one: what a switch would add or copy at once is several.
Topology without_abilities(Topology topology) {
  for (SharedLimit& limit : topology.limits) limit.abilities = {};
  return topology;
}

// Microseconds; none where it was stopped.
// smpirun prints the simulated time in seconds, among lines of its own.
std::optional<double> replayed_us(const WorkFolder& folder, std::size_t size, const std::atomic<bool>* stop) {
  const bool good = folder.run(fmt::format("sh {}/replay.sh", size), stop);
  if (stop != nullptr && *stop) return std::nullopt;
  const std::string printed = folder.text("err") + folder.text("out"), before = "Simulated time: ";
  const std::size_t at = printed.find(before);
  if (!good || at == printed.npos) throw InputError("smpirun", "fails: " + folder.complaint(), kRemedy);
  return std::strtod(printed.c_str() + at + before.size(), nullptr) * 1e6;
}

// Adds a row for each size of a point, on the machine without what its switches can do.
// False: it was stopped.
bool add_rows(const Result& result, const Topology& plain, int number, const SimulateQuestion& asked,
              std::vector<SimulatedRow>& rows) {
  const Point& point = result.points[number];
  const Verified<Schedule> schedule = accepted(result.topology, point.collective, point.schedule);
  const MessageShape message = message_shape(point.collective);
  const WorkFolder folder("simulate", asked.folder);
  std::vector<NamedText> messages;
  for (const std::int64_t bytes : asked.message_bytes)
    messages.push_back({std::to_string(messages.size()),
                        messages_as_json(schedule, block_of_size(message, bytes), plain.name)});
  write_files(in_folder(folder.path(), asked.written(messages)));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::optional<double> us = replayed_us(folder, i, asked.stop);
    if (!us) return false;
    const std::int64_t bytes = asked.message_bytes[i];
    const double block = static_cast<double>(block_of_size(message, bytes));
    rows.push_back({.point = number,
                    .algorithm = point.construction,
                    .message_bytes = bytes,
                    .predicted_us = schedule_time(point.schedule, plain, point.cost.chunks, block).us,
                    .simulated_us = *us,
                    .busbw_gbs = algbw_gbs(static_cast<double>(bytes), *us) * message.bus_factor});
    if (asked.simulated) asked.simulated(rows.back());
  }
  return true;
}

void require_points_and_sizes(const Result& result, const SimulateQuestion& asked) {
  for (const int i : asked.points)
    if (i < 0 || i >= std::ssize(result.points))
      throw InputError("point", fmt::format("there is none of number {}", i),
                       fmt::format("the result has {}", result.points.size()));
  const OptionWords& size = row_of(compile_rows(), "message_bytes").words;
  for (const std::int64_t bytes : asked.message_bytes) require_in_range(size, bytes, "message size");
  if (!has_program("smpirun")) throw InputError("simulate", "there is no smpirun here", kRemedy);
}

}  // namespace

// Without what switches can do: SimGrid's platform has no multicast, so the prediction beside it has none
// either.
Simulated simulate(const Result& result, const SimulateQuestion& asked) {
  require_points_and_sizes(result, asked);
  const Topology plain = without_abilities(result.topology);
  Simulated answer;
  for (const int i : asked.points) {
    const std::string note = unused_switches(result.topology, result.points[i], "simgrid");
    if (!note.empty()) answer.notes.push_back(fmt::format("point {}: {}", i, note));
    if (!add_rows(result, plain, i, asked, answer.rows)) break;
  }
  return answer;
}

// The algorithm is left out first where the terminal is narrow. The difference is in per cent of the
// predicted time, of either sign; rows without messages do not count.
Report report_of(const Result& result, const Simulated& answer) {
  ReportTable table{
      .title = heading(result),
      .rows = {{"#", "algorithm", "message", "predicted us", "simulated us", "ratio", "busbw GB/s"}},
      .kinds = "rLrrrrr"};
  double most = 0;
  for (const SimulatedRow& row : answer.rows) {
    const double ratio = row.predicted_us > 0 ? row.simulated_us / row.predicted_us : 0;
    if (ratio > 0) most = std::max(most, 100 * std::abs(ratio - 1));
    table.rows.push_back({std::to_string(row.point), row.algorithm.empty() ? "-" : row.algorithm,
                          format_bytes(static_cast<double>(row.message_bytes)),
                          fmt::format("{:.6g}", row.predicted_us), fmt::format("{:.6g}", row.simulated_us),
                          ratio > 0 ? fmt::format("{:.4f}", ratio) : "-",
                          fmt::format("{:.4g}", row.busbw_gbs)});
  }
  return {.title = result.topology.name + ", " + name_of(result.collective) + ", by SimGrid",
          .sentences = {fmt::format("{}; the largest difference is {:.3g} %",
                                    counted(std::ssize(answer.rows), "time"), most)},
          .notes = answer.notes,
          .tables = {std::move(table)}};
}

std::string to_json(const Result& result, const Simulated& answer) {
  return json_file("chorale_simulate", 1, "simulator", "SimGrid", "topology", result.topology.name,
                   "collective", name_of(result.collective), "rows", answer.rows);
}

}  // namespace chorale
