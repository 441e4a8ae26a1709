// Can what is begun still be ended? (Edmonds 1973: disjoint branchings with prescribed roots.)
#pragma once

#include <map>
#include <vector>

#include "bounds/wires.h"
#include "construct/ground.h"

namespace chorale {

// The feasibility oracle (Edmonds 1973). Chunks that some ranks have can all reach all ranks, within given
// capacities of the wires, exactly if for every rank by itself those that it lacks can flow to it at once
// from their holders. (With switches: wires into and out of each have equal capacity; then paths through it
// can be split off as they are used, and the condition stays: Mader 1978, Frank.)
class Guard {
 public:
  explicit Guard(const Ground& ground) : ground_(ground), wires_(wires_of(ground.topology())) {}

  // The test for all representatives, with wires of `rounds` rounds of capacity.
  bool passes(const Holdings&, long long rounds) const;

  const Wires& wires() const { return wires_; }

 private:
  // How many chunks the same ranks have.
  using Holders = std::map<std::vector<Rank>, int>;
  bool passes(const Holders&, Rank v, long long rounds) const;

  const Ground& ground_;
  const Wires wires_;
};

}  // namespace chorale
