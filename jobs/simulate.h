// Times by a simulator that is not ours: points of a result are replayed in SimGrid
// (python/chorale/simgrid.py) and set beside what is predicted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/fields.h"
#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/report.h"

namespace chorale {

struct SimulatedRow {
  int point = 0;
  std::string algorithm = {};      // its construction
  std::int64_t message_bytes = 0;  // as nccl-tests counts them (cost/busbw.h)
  // By the simulation of cost/program_time.h. Where all links are alike other commands state steps * alpha +
  // rounds * beta, which this is at most where ranks go on as soon as their own messages are there.
  double predicted_us = 0;
  double simulated_us = 0;  // by SimGrid, six digits
  double busbw_gbs = 0;     // by the simulated time; GB/s = 1e9 bytes per second
};
template <>
struct Fields<SimulatedRow> {
  using S = SimulatedRow;
  static constexpr auto all = plain_fields<&S::point, &S::algorithm, &S::message_bytes, &S::predicted_us,
                                           &S::simulated_us, &S::busbw_gbs>();
};

struct SimulateQuestion {
  std::vector<int> points = {};  // numbers of points of the result
  std::vector<std::int64_t> message_bytes = {1 << 10, 32 << 10, 1 << 20, 32 << 20, 1 << 30};
  // Returns what SimGrid replays, of messages (codegen/simulators/messages.h): files in folders named as
  // these are.
  std::function<std::vector<NamedText>(const std::vector<NamedText>& messages)> written = {};
  std::string folder = {};                  // where temporary files may be made; "": in the system's
  const std::atomic<bool>* stop = nullptr;  // ends it with the rows so far
  std::function<void(const SimulatedRow&)> simulated = {};  // called with each row
};

struct Simulated {
  std::vector<SimulatedRow> rows = {};  // by point, then by size
  // Points that count on switches which multicast or reduce: simulated and predicted are
  // their messages one by one.
  std::vector<std::string> notes = {};
};

// Throws InputError where smpirun is missing or fails, for points without a number, sizes out of range, and
// for machines that SimGrid cannot express.
Simulated simulate(const Result&, const SimulateQuestion&);

// {"chorale_simulate": 1, "simulator", "topology", "collective", "rows": [fields of SimulatedRow]};
// docs/formats.md.
std::string to_json(const Result&, const Simulated&);

// Returns a row per point and size, and the largest difference of two times.
Report report_of(const Result&, const Simulated&);

}  // namespace chorale
