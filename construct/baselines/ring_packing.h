// The most rings that share a machine, in fractions: what greedily chosen rings leave unused, such as a third
// of four GPUs that are all linked (their two ring pairs obstruct the third), is used.
#pragma once

#include <vector>

#include "construct/baselines/ring.h"
#include "ir/topology.h"

namespace chorale {

struct PackedRings {
  std::vector<Ring> rings = {};  // a ring may be listed several times
  int rounds = 0;                // that carry all of them once
  double rate() const { return rounds == 0 ? 0 : static_cast<double>(rings.size()) / rounds; }
};

// Returns the rounds that carry a chunk over each link of each ring.
int rounds_of(const Topology&, const std::vector<Ring>&);

// Returns rings whose rate is the maximum over all fractional packings of Hamiltonian cycles under links and
// limits, but for the rounding to few whole rings (2 % at most where it was measured). None beyond 10 ranks,
// where there is no ring, and where more than 128 rings would be needed.
PackedRings pack_rings(const Topology&);

}  // namespace chorale
