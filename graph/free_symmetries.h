// Finds groups of symmetries that move every rank: what one rank does, all of an orbit may do at once.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// Returns permutations of ranks that are symmetries of the machine (graph/automorphisms.h), the identity
// first, and no other of which fixes a rank: a group. Ranks are read as numbers of several digits, as
// builders number them (rows and columns; nodes and their GPUs), and the group consists of cyclic shifts of
// digits: translations of a torus, bit flips of a hypercube, rotations of equal nodes. The largest that is
// found so; the identity alone if there is none.
std::vector<std::vector<Rank>> digit_shifts(const Topology&);

// Returns permutations of ranks that are symmetries of the machine, the identity first, and no other of which
// fixes a rank: a group. The largest of those that numbers suggest (digit_shifts) and, on machines of up to
// some thousand links, of those that bliss finds (automorphisms.h). The latter need not commute, as shifts of
// digits do: paths in any order (construct/exact/regular_alltoall.h) take these. Deterministic.
std::vector<std::vector<Rank>> free_symmetries(const Topology&);

}  // namespace chorale
