// SimGrid replays the messages of a schedule on a platform made of the machine
// (codegen/simulators/simgrid.h): each link by its latency and rate, shared limits as links that several
// routes pass. Platform and traces are written into a temporary directory, once per point; further sizes of
// the point replace the traces alone.
#include "jobs/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "api/compile.h"
#include "api/report.h"
#include "api/work_folder.h"
#include "codegen/simulators/simgrid.h"
#include "cost/busbw.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/files.h"
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
std::optional<double> replayed_us(const WorkFolder& folder, const std::atomic<bool>* stop) {
  const bool good = folder.run("sh replay.sh", stop);
  if (stop != nullptr && *stop) return std::nullopt;
  const std::string printed = folder.text("err") + folder.text("out"), before = "Simulated time: ";
  const std::size_t at = printed.find(before);
  if (!good || at == printed.npos) throw InputError("smpirun", "fails: " + folder.complaint(), kRemedy);
  return std::strtod(printed.c_str() + at + before.size(), nullptr) * 1e6;
}

class PointReplay {
 public:
  // `plain`: the machine without what its switches can do.
  PointReplay(const Topology& topology, const Topology& plain, const Point& point, const std::string& where)
      : plain_(plain),
        point_(point),
        schedule_(accepted(topology, point.collective, point.schedule)),
        folder_("simulate", where) {}

  std::optional<SimulatedRow> row(int number, std::int64_t bytes, const std::atomic<bool>* stop) {
    const MessageShape message = message_shape(point_.collective);
    const std::int64_t block = block_of_size(message, bytes);
    write_files(in_folder(folder_.path(), written_ ? to_simgrid_traces(schedule_, block)
                                                   : to_simgrid(schedule_, block, plain_.name)));
    written_ = true;
    const std::optional<double> us = replayed_us(folder_, stop);
    if (!us) return std::nullopt;
    return SimulatedRow{
        .point = number,
        .algorithm = point_.construction,
        .message_bytes = bytes,
        .predicted_us =
            schedule_time(point_.schedule, plain_, point_.cost.chunks, static_cast<double>(block)).us,
        .simulated_us = *us,
        .busbw_gbs = algbw_gbs(static_cast<double>(bytes), *us) * message.bus_factor};
  }

 private:
  const Topology& plain_;
  const Point& point_;
  const Verified<Schedule> schedule_;
  const WorkFolder folder_;
  bool written_ = false;
};

void require_points_and_sizes(const Result& result, const SimulateQuestion& asked) {
  for (const int i : asked.points)
    if (i < 0 || i >= std::ssize(result.points))
      throw InputError("point", fmt::format("there is none of number {}", i),
                       fmt::format("the result has {}", result.points.size()));
  const OptionWords& size = row_of(compile_rows(), "message_bytes").words;
  for (const std::int64_t bytes : asked.message_bytes) require_in_range(size, bytes, "message size");
  if (const auto fault = without_simgrid(result.topology)) throw InputError(result.topology.name, *fault);
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
    const Point& point = result.points[i];
    if (const std::string note = unused_switches(result.topology, point, "simgrid"); !note.empty())
      answer.notes.push_back(fmt::format("point {}: {}", i, note));
    // A folder for each point: platform and traces of one point fit no other.
    PointReplay replay(result.topology, plain, point, asked.folder);
    for (const std::int64_t bytes : asked.message_bytes) {
      const std::optional<SimulatedRow> row = replay.row(i, bytes, asked.stop);
      if (!row) return answer;
      answer.rows.push_back(*row);
      if (asked.simulated) asked.simulated(*row);
    }
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
