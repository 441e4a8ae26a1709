// A row per entry and size: the library's own collective beside the best of Chorale's points, by medians over
// rounds. The rate and busbw are those of the faster of the two, which is what selection takes.
#include <fmt/format.h>

#include "api/run.h"
#include "cli/launcher.h"
#include "cli/layout.h"
#include "cli/library_command.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/words.h"
#include "jobs/measure.h"

namespace chorale {
namespace {

// Of the medians of the rounds, in parts of their median.
std::string spread(const MeasuredTime& time) {
  return fmt::format("{:.0f} %", 100 * (time.most_us - time.least_us) / time.median_us);
}

// "MPI's own" and "Chorale" have a time and its spread each; "taken" is the faster one, and "point" the
// number of Chorale's in the answer.
std::string in_words(const std::vector<MeasuredRow>& rows, MeasuredOver over) {
  const std::string theirs = over == MeasuredOver::Mpi ? "MPI's" : "NCCL's";
  TableRows cells = {{"group", "collective", "message", theirs + " own", "spread", "Chorale", "spread",
                      "GB/s", "busbw", "point", "taken"}};
  for (const MeasuredRow& row : rows) {
    const bool own_is_faster = row.own && row.own->median_us < row.ours.median_us;
    const double rate = algbw_gbs(static_cast<double>(row.message_bytes),
                                  own_is_faster ? row.own->median_us : row.ours.median_us);
    cells.push_back({row.place.group, row.place.collective,
                     format_bytes(static_cast<double>(row.message_bytes)),
                     row.own ? format_us(row.own->median_us) : "none", row.own ? spread(*row.own) : "",
                     format_us(row.ours.median_us), spread(row.ours), fmt::format("{:.3g}", rate),
                     fmt::format("{:.3g}", rate * row.bus_factor), std::to_string(row.ours.point),
                     own_is_faster ? theirs : "Chorale"});
  }
  return table(cells, "llrrrrrrrrl");
}

// MPI's own algorithms, a row each; those that failed are listed below.
std::string forced_in_words(const std::vector<MeasuredRow>& rows) {
  TableRows cells = {{"group", "collective", "message", "MPI by", "time", "chosen"}};
  std::string failed;
  for (const MeasuredRow& row : rows) {
    for (const OwnTime& own : row.forced)
      cells.push_back({row.place.group, row.place.collective,
                       format_bytes(static_cast<double>(row.message_bytes)), own.algorithm,
                       format_us(own.time.median_us), row.own ? format_us(row.own->median_us) : "-"});
    if (!row.failed.empty())
      failed += fmt::format("{} of {}, {}: MPI refuses {}, or its data is wrong\n", row.place.collective,
                            row.place.group, format_bytes(static_cast<double>(row.message_bytes)),
                            joined(row.failed));
  }
  if (cells.size() == 1) return failed + "none of MPI's own algorithms can be forced\n";
  return "\n" + table(cells, "llrlrr") + failed;
}

}  // namespace

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
  return {.text = in_words(rows, options.over) + (options.all_own ? forced_in_words(rows) : "")};
}

}  // namespace chorale
