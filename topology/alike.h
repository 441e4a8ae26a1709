// Which ranks of a machine look alike: by their links, those of their neighbours, and so on, as far as that
// tells any apart (colour refinement). Ranks that an automorphism takes to each other always do; the converse
// does not hold.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// One of each class, the lowest, rising.
std::vector<Rank> different_ranks(const Topology&);

}  // namespace chorale
