// What the answers of a library take where they are to be used, beside what the library of messages does by
// itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/busbw.h"
#include "ir/report.h"
#include "jobs/library.h"

namespace chorale {

class MpiSession;

struct MeasureOptions {
  MeasuredOver over = MeasuredOver::Mpi;
  // Of messages; blocks are whole elements. From where latency decides to where the rate does; each size
  // costs rounds on all processes.
  std::vector<std::int64_t> bytes = {64, 1 << 10, 16 << 10, 256 << 10, 1 << 20};
  int rounds = 5;  // in each, all that are compared are run once
  int times = 10;  // each, in a round
  int points = 3;  // of an answer: those that should be the fastest at that size
  // MPI's own: not only as it chooses, but by each of its algorithms that its settings can force. Over MPI
  // only; requires join_processes(true).
  bool all_own = false;
  std::chrono::milliseconds timeout{60'000};  // of a rank that waits for another
  std::function<void(const std::string& doing)> progress = {};
};

struct MeasuredRow {
  AnswerPlace place = {};
  std::int64_t message_bytes = 0;
  double bus_factor = 1;                 // cost/busbw.h
  std::optional<MeasuredTime> own = {};  // none: the library does not have this collective
  MeasuredTime ours = {};                // the fastest of the points
  std::vector<OwnTime> forced = {};      // its own algorithms, by their numbers; without those that failed
  std::vector<std::string> failed = {};  // of those: MPI refused them here, or their data was wrong
};

// Every process calls it, rank n for rank n of the machine, as it is named in the library; all have the file
// open, the first one writes, a transaction a time. Groups of one level are measured at once, as programs use
// them; the slowest counts. Sums are of float32. A time is the median of the medians of the rounds, its
// spread that of these. Rows of the first one's. Throws InputError where the machine is not in the library,
// or has other ranks; where a schedule gives wrong data, std::logic_error; Hang.
std::vector<MeasuredRow> measure(AnswerFile&, const std::string& machine, MpiSession&,
                                 const MeasureOptions& = {});

// Returns a row per entry and size: the library's own collective beside the best of Chorale's points, by
// medians over rounds, with the rate of the faster one, which is what selection takes; and of all of MPI's
// own a row each.
Report report_of(const std::vector<MeasuredRow>&, const MeasureOptions&);

}  // namespace chorale
