// The growth bound: a rank without a chunk cannot send it, so a chunk that starts late is spread late. On
// machines whose ranks send few chunks per round (a hub, a switch) it is stronger than cuts: log2(N) rounds
// for one chunk (the classical fan-out bound), and how several chunks must share the ranks that can send.
//
// What is searched is a relaxation of the collective to counts: a state is the number of ranks, beyond the
// first holders, that hold each chunk of a class. The Growth part of Certificate (ir/frontier.h) defines it.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/instance.h"
#include "ir/topology.h"

namespace chorale {

// A bound of a class of equal chunks, which is named by one of them.
struct GrowthBound {
  int rounds = 0;  // at least
  int chunk = 0;
};

// Returns the strongest over all classes of copied chunks; 0 rounds if none gives a bound, or the counts
// have too many states.
GrowthBound growth_bound(const Topology&, const Collective& copying, int steps);

// How a schedule that the bound leaves possible would go.
struct GrowthPlan {
  std::vector<int> rounds = {};               // by step
  std::vector<std::vector<int>> copies = {};  // by step and chunk: ranks that get the chunk in the step
};

// Different plans within the budget, at most `most`; empty if the bound excludes the budget, or where the
// chunks that move are not all equal.
std::vector<GrowthPlan> growth_plans(const Topology&, const Collective& copying, const Budget&, int most);

}  // namespace chorale
