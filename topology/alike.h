// Equivalence of ranks by colour refinement: by their links, those of their neighbours, and so on, until no
// more ranks are distinguished. Ranks that an automorphism maps to each other are always equivalent; the
// converse does not hold.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// One of each class, the lowest, rising.
std::vector<Rank> different_ranks(const Topology&);

}  // namespace chorale
