// What a switch that copies and adds is worth by its number of ports.
#pragma once

#include <algorithm>

namespace chorale {

// Returns what such a switch of `ports` ports delivers, as a multiple of what its links carry, where one of
// eight delivers `gain` (Topology::switch_gain). Below eight ports it is less, and never below 1: a rank's part
// of its own sum, and its own copy, take its cable, too, so of n ports an AllReduce sends n + 1 values where
// ranks by themselves would send 2(n - 1) (eight H100: 1.29, six: 1.18, four: 1.00).
inline double gain_of_ports(double gain, int ports) {
  return std::max(1.0, gain * std::min(1.0, 9.0 / 7.0 * (ports - 1) / (ports + 1)));
}

}  // namespace chorale
