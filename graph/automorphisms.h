// Symmetries of a machine: permutations of its ranks that carry links to links of equal bandwidth and price,
// and shared limits to shared limits. Found with bliss; the subgroups that are worth trying for symmetric
// schedules are chosen here.
#pragma once

#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/renumbering.h"
#include "ir/topology.h"

namespace chorale {

struct Automorphism {
  std::vector<Rank> ranks = {};    // n goes to ranks[n]
  std::vector<LinkId> links = {};  // and link l to links[l]
  std::vector<int> limits = {};    // and limit i to limits[i]
  bool operator==(const Automorphism&) const = default;
};

Automorphism compose(const Automorphism& first, const Automorphism& then);
int order(const Automorphism&);

// Returns the automorphism with this permutation of ranks; none if the permutation is not one. Parallel links
// of equal kind are carried over in the order of their numbers.
std::optional<Automorphism> automorphism(const Topology&, const std::vector<Rank>& ranks);

// Generators of the group that preserves the colours of ranks, and its order (a double: it overflows integers
// soon).
struct SymmetryGroup {
  std::vector<Automorphism> generators = {};
  double order = 1;
};
SymmetryGroup symmetry_group(const Topology&, const std::vector<int>& rank_colours);

// Of ranks that symmetries of the machine carry to each other one, the lowest; rising. Requires a machine
// without switches.
std::vector<Rank> different_ranks(const Topology&);

// Returns numbers that depend on the machine alone: machines that differ only in the numbers of ranks and
// links and in the order of limits are equal when they are renumbered so (but for the names of limits). Ranks
// of different colours are distinguished. Requires a machine without switches, also below its links. Another
// version of bliss may number otherwise.
Renumbering canonical_numbering(const Topology&, const std::vector<int>& rank_colours);

// Returns generating sets of subgroups, most promising first, at most `most`: the whole group, then subgroups
// in which no element but the identity fixes a rank, large ones before small ones, down to half of the
// largest: translations of a torus, bit flips of a hypercube, rotations. Of those whose elements carry the
// ranks equally far, one. Deterministic.
std::vector<std::vector<Automorphism>> candidate_subgroups(const Topology&,
                                                           const std::vector<int>& rank_colours,
                                                           int most = 6);

// Returns all elements, as permutations of ranks, the identity first, of the largest of those subgroups in
// which no other element fixes a rank; the identity alone if there is none.
std::vector<std::vector<Rank>> largest_free_subgroup(const Topology&);

// Returns the permutation of chunks that goes with an automorphism: the i-th chunk of a class (equal pre and
// post) goes to the i-th of the image class. None if the automorphism does not preserve the collective.
std::optional<std::vector<Chunk>> induced_chunks(const Collective&, const Automorphism&);

// Returns exchanges of two ranks that preserve machine and collective: of each class of interchangeable ranks
// each with the next one.
std::vector<Automorphism> rank_exchanges(const Topology&, const Collective&);

// Returns colours of ranks: ranks of one colour could be exchanged as far as their own roles show, which are
// of one pattern. Remaining differences are found by induced_chunks.
std::vector<int> rank_colours(const Collective&);

// Returns permutations of ranks that are symmetries of the machine (graph/automorphisms.h), the identity
// first, and no other of which fixes a rank: a group. Ranks are read as numbers of several digits, as
// builders number them (rows and columns; nodes and their GPUs), and the group consists of cyclic shifts of
// digits: translations of a torus, bit flips of a hypercube, rotations of equal nodes. The largest that is
// found so; the identity alone if there is none.
std::vector<std::vector<Rank>> digit_shifts(const Topology&);

// Returns permutations of ranks that are symmetries of the machine, the identity first, and no other of which
// fixes a rank: a group. The largest of those that numbers suggest (digit_shifts) and, on machines of up to
// some thousand links, of those that bliss finds (automorphisms.h). Deterministic.
std::vector<std::vector<Rank>> free_symmetries(const Topology&);

}  // namespace chorale
