// Communications side by side, on links that they share.
//
// A communication is a sequence of steps, each of which waits for its latency and then sends. Alone, a step
// keeps a path (a port, a ring link, an exit) busy for a number of microseconds, and the busiest path
// determines its duration. Beside others it proceeds at a fraction of that pace, such that no path exceeds
// its capacity. Paths are shared fairly: paces are raised together until a path is full, its users stay at
// that, and the others go on (max-min fairness, in fractions of the pace that each would have alone). So
//
//   longest of all <= time of all together <= sum
//
// with the first where no path is shared, and the second where all keep one path busy all the time.
#pragma once

#include <cstdint>
#include <vector>

namespace chorale {

struct PathUse {
  std::int64_t path = 0;  // any number; the same one for the same path
  double us = 0;          // that it is busy, at full speed
  bool operator==(const PathUse&) const = default;
};

struct StepLoad {
  double latency_us = 0;            // before anything is sent
  double sending_us = 0;            // alone
  std::vector<PathUse> paths = {};  // each once, and for at most sending_us
  bool operator==(const StepLoad&) const = default;
};

struct Communication {
  std::vector<StepLoad> steps = {};
  double times = 1;             // one after the other
  std::vector<int> after = {};  // it begins when these have ended: earlier ones
};

struct TimeSpan {
  double from_us = 0, to_us = 0;
  bool operator==(const TimeSpan&) const = default;
};

// Repetitions that are followed one by one, of all communications together; more become fewer that are as
// much longer.
inline constexpr int kMostRepetitions = 64;

// When each runs, from when the first can.
std::vector<TimeSpan> side_by_side(const std::vector<Communication>&);

}  // namespace chorale
