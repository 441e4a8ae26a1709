// Prices for the tests of the tuner, from no search.
#pragma once

#include <bit>
#include <vector>

#include "tensor/tuner/price.h"

namespace chorale::test {

// In units of a block: (steps, rounds/chunks). AllReduce by recursive halving and doubling would take 2
// log2 p steps and 2 (p-1)/p blocks; here ReduceScatter and AllGather are one step each, since a switch
// lets all send to all at once.
inline std::vector<Cost> switch_points(OperationKind kind, int ranks) {
  const int others = ranks - 1;
  const int halvings =
      std::has_single_bit(static_cast<unsigned>(ranks)) ? std::countr_zero(static_cast<unsigned>(ranks)) : 0;
  const int doublings = std::bit_width(static_cast<unsigned>(others));
  std::vector<Cost> points;
  switch (kind) {
    case OperationKind::AllReduce:  // everything to everyone; ReduceScatter and AllGather; doubling
      points = {{.steps = 1, .rounds = others}, {.steps = 2, .rounds = 2 * others, .chunks = ranks}};
      if (halvings > 0) points.push_back({.steps = halvings, .rounds = halvings});
      break;
    case OperationKind::Reduce:
    case OperationKind::Broadcast:  // directly; by a tree; scattered and gathered
      points = {{.steps = 1, .rounds = others},
                {.steps = doublings, .rounds = doublings},
                {.steps = 2, .rounds = 2 * others, .chunks = ranks}};
      break;
    case OperationKind::Send:
      return {{.steps = 1, .rounds = 1}};
    default:
      points = {{.steps = 1, .rounds = others}};
  }
  if (ranks == 1) return {{.steps = 0, .rounds = 0}};
  return points;
}

// The prices of ranks that each have one link to a switch, with what can be done over it in one step, by
// recursive halving (if their number is a power of two), and with the fewest bytes. Sends have a link of
// their own.
// All kinds among the world and among a group; across groups there is AllReduce only.
inline WorkloadPrices switch_prices(const Workload& workload, const AlphaBeta& link) {
  WorkloadPrices prices;
  for (const Scope scope : {Scope::World, Scope::Group})
    for (const OperationKind kind :
         {OperationKind::AllReduce, OperationKind::ReduceScatter, OperationKind::AllGather,
          OperationKind::Reduce, OperationKind::Broadcast, OperationKind::AllToAll, OperationKind::AllToAllV,
          OperationKind::Send})
      prices.collectives.push_back({.kind = kind,
                                    .scope = scope,
                                    .link = link,
                                    .points = switch_points(kind, ranks_in(workload, scope))});
  prices.collectives.push_back(
      {.kind = OperationKind::AllReduce,
       .scope = Scope::Across,
       .link = link,
       .points = switch_points(OperationKind::AllReduce, ranks_in(workload, Scope::Across))});
  return prices;
}

}  // namespace chorale::test
