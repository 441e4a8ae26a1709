// Where to draw the ranks of a machine.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

struct Spot {
  double x = 0;  // 0 .. 1, from the left
  double y = 0;  // 0 .. 1, from the top
};

// One place a rank, such that distances on paper are near to distances in hops (stress majorization; Gansner,
// Koren, North 2004). Ranks that all are neighbours, or more than 256 of them, lie on a circle. The same
// topology always gets the same places.
std::vector<Spot> layout(const Topology&);

}  // namespace chorale
