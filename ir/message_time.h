// Messages between ranks, and how long they took.
#pragma once

#include <algorithm>
#include <cstdint>
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

}  // namespace chorale
