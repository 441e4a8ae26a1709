// Messages between ranks, and how long they took; how long programs should take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/topology.h"

namespace chorale {

struct RankMessage {
  Rank src = 0, dst = 0;
  std::int64_t bytes = 0;
  bool operator==(const RankMessage&) const = default;
};

// Of something that was measured several times, or in several places.
struct Spread {
  double least = 0, median = 0, most = 0;
  bool operator==(const Spread&) const = default;
};

// Of an even number the median is the upper of the two in the middle. Requires at least one.
inline Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {.least = values.front(), .median = values[values.size() / 2], .most = values.back()};
}

// One message, in one direction.
struct MessageTime {
  RankMessage message = {};
  Spread us = {};
  bool by_itself = true;  // or behind others of the same pair: then its time does not contain the latency
};

// How long a schedule or program should take (cost/program_time.h).
struct ProgramTime {
  double us = 0;
  double busiest_us = 0;      // how long the busiest link or limit is in use: no order of transfers beats it
  std::string busiest = {};   // "link 0 -> 1", "limit out of 3"; empty if nothing is sent
  bool links_chosen = false;  // of several between two ranks, since the program names none
};

}  // namespace chorale
