// A certificate as a sum of cuts in time, for proofs for other checkers (pareto/check.cpp): what
// each chunk must enter, at which price. Nothing is believed of it: a sum that shows too little is refused by
// that checker, and so is a cut that a chunk need not enter.
//
//   Weights    the ranks that cost v or more, in time, are a cut, for each cost v up to that of the most
//              expensive destination
//   Trees      the cuts of the dual of the cheapest arborescence (Fulkerson 1974)
//   Cuts       as they are
//   Partition  the groups that a chunk must enter, or those that it must leave
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

struct EnteredCut {
  Chunk chunk = 0;
  TimedCut cut = {};  // its price, and for each rank the last time that it is inside
};

struct CutSum {
  std::vector<Prices> prices = {};  // by step
  std::vector<EnteredCut> cuts = {};
  // A chunk that cannot be where it is needed, in so few steps: no sum is needed.
  bool unreachable = false;
  std::int64_t owed = 0, per_round = 0;  // all chunks pay for their cuts; a round is paid at most
};

// Returns it for a schedule of `steps` steps; nullopt if that kind is no sum of cuts. Requires a certificate
// that was accepted, about this collective, and no underlay.
std::optional<CutSum> cut_sum(const Topology&, const Collective&, const Certificate&, int steps);

}  // namespace chorale
