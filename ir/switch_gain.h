// What a switch that copies and adds is worth by its number of ports.
#pragma once

#include <algorithm>
#include <cmath>

namespace chorale {

// Returns what such a switch of `ports` ports delivers, as a multiple of what its links carry, where one of
// eight delivers `gain` (Topology::switch_gain). Below eight ports it is less, and never below 1: a rank's
// part of its own sum, and its own copy, take its cable, too, so of n ports an AllReduce sends n + 1 values
// where ranks by themselves would send 2(n - 1) (eight H100: 1.29, six: 1.18, four: 1.00).
inline double gain_of_ports(double gain, int ports) {
  return std::max(1.0, gain * std::min(1.0, 9.0 / 7.0 * (ports - 1) / (ports + 1)));
}

// Returns the chunks per round that a limit of such a switch has: no fewer than it delivers, so that bounds
// hold.
inline int whole_deliveries(double chunks) {
  return static_cast<int>(std::min(1e6, std::ceil(chunks - 1e-6)));
}

// Returns how many times smaller chunks are to be so that whole ones are at most 2 % more than it delivers,
// or close to it: of eight H100, whose links carry a chunk, 11 for 10.4, and 21 for 20.7.
inline int chunk_divisor(double chunks) {
  int divisor = 1;
  while (divisor < 16 && whole_deliveries(chunks * divisor) > 1.02 * chunks * divisor) ++divisor;
  return divisor;
}

}  // namespace chorale
