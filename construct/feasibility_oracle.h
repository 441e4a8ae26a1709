// Can what is begun still be ended? (Edmonds 1973: disjoint branchings with prescribed roots.)
#pragma once

#include <map>
#include <vector>

#include "bounds/capacity_network.h"
#include "construct/quotient_instance.h"

namespace chorale {

// The feasibility oracle (Edmonds 1973). Chunks that some ranks have can all reach all ranks, within given
// capacities of the arcs, exactly if for every rank by itself those that it lacks can flow to it at once
// from their holders. (With switches: arcs into and out of each have equal capacity; then paths through it
// can be split off as they are used, and the condition stays: Mader 1978, Frank.)
class FeasibilityOracle {
 public:
  explicit FeasibilityOracle(const QuotientInstance& quotient)
      : quotient_(quotient), network_(capacity_network(quotient.topology())) {}

  // The test for all representatives, with arcs of `rounds` rounds of capacity.
  bool passes(const Holdings&, long long rounds) const;

  const CapacityNetwork& network() const { return network_; }

 private:
  // How many chunks the same ranks have.
  using Holders = std::map<std::vector<Rank>, int>;
  bool passes(const Holders&, Rank v, long long rounds) const;

  const QuotientInstance& quotient_;
  const CapacityNetwork network_;
};

}  // namespace chorale
