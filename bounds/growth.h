// The growth bound: who has nothing cannot send, so a chunk that starts late is spread late. On machines
// whose ranks send few chunks a round (a hub, a switch) it says what cuts do not: log2(N) rounds for one
// chunk, C-1 more for C of them. The Growth part of Certificate (ir/frontier.h) is its definition; for one
// chunk it is the classical fan-out bound.
#pragma once

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// A class of equal chunks, by the number of one of them.
struct GrowthBound {
  int rounds = 0;  // at least
  int chunk = 0;
};

// The strongest over all classes of copied chunks; 0 rounds if none says anything, or there are too many
// splits.
GrowthBound growth_bound(const Topology&, const Collective& copying, int steps);

}  // namespace chorale
