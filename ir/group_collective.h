// Collectives over groups of a machine's ranks, and collectives with a count for each rank (MPI's Allgatherv
// and the like), as custom collectives. Ranks outside of all groups hold no data and may relay.
#pragma once

#include <string>
#include <vector>

#include "ir/collective.h"

namespace chorale {

// A kind on each of some groups, all at once.
struct GroupQuestion {
  CollectiveKind kind = CollectiveKind::Custom;
  // Disjoint; a group's ranks in the order in which its blocks are numbered.
  std::vector<std::vector<Rank>> groups = {};
  std::string groups_name = {};  // of more than one group, in a word: "column"; "": by their number
  int root = 0;                  // of a kind that has one: its number in each group
  // Chunks per block, by group: of each of its ranks, or for Alltoall of each pair, sources before
  // destinations. None: one chunk per block.
  std::vector<std::vector<int>> counts = {};
};

// Returns the kind itself if there is one group, all ranks as they are numbered, without counts. Throws
// InputError if the collective would be too large, or if its counts leave nothing to move.
Collective make_collective(const GroupQuestion&, int ranks);

// Returns the counts of an allgatherv or reducescatterv of all ranks as they are numbered; empty of any other
// collective.
std::vector<int> counts_of(const Collective&);

}  // namespace chorale
