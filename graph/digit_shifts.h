// A regular (translation) group of automorphisms that can be listed for machines of any size.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// Permutations of ranks that are symmetries of the machine (graph/automorphisms.h), the identity first,
// and no other of which fixes a rank: a group. Ranks are read as numbers of several digits, as builders
// number them (rows and columns; nodes and their GPUs), and the group consists of cyclic shifts of digits:
// translations of a torus, bit flips of a hypercube, rotations of equal nodes. The largest that is found so;
// the identity alone if there is none.
std::vector<std::vector<Rank>> digit_shifts(const Topology&);

}  // namespace chorale
