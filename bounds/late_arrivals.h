// The late-arrival bound: behind a cut with several ranks the last rounds carry less than the cut's width.
//
// A chunk that enters a set of ranks t rounds before the end reaches a limited number of them, over links
// between them; for the others it must enter again. So a late entry is worth only a part of a chunk
// (ir/frontier.h, Certificate; docs/bounds.md). If the rounds of the cut are an integer, the bound is a round
// more than the cut's, or two.
#pragma once

#include <optional>
#include <vector>

#include "bounds/demand.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

struct LateArrivalBound {
  int rounds = 0;
  std::vector<int> group = {};  // by rank: 1 inside
  Prices prices = {};
};

// The strongest bound over the sets before which the prices have a cut: of the ranks that can reach a given
// rank over links that cost nothing. Nothing if no such set has two ranks that are entered. Requires no
// abilities and no switches.
std::optional<LateArrivalBound> late_arrival_bound(const Topology&, const std::vector<ChunkClass>&,
                                                   const Prices&);

}  // namespace chorale
