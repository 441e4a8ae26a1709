// How often the chunks of a collective cross between the groups of a partition at least (docs/bounds.md,
// "Partition").
//
// Most chunks are *trees*: whatever connects a set of ranks, their terminals, crosses one time fewer than
// there are groups with a terminal. So does a copy from one rank (the terminals are the source and all
// destinations), and a sum for one; a sum of some ranks for the same ranks does so twice. Other chunks are
// counted from their classes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/collective.h"

namespace chorale {

struct Terminals {
  RankSet ranks = {};
  std::int64_t weight = 0;  // crossings for each group after the first: chunks, or twice as many
};

class Crossings {
 public:
  explicit Crossings(const Collective&);

  // `group` by rank.
  std::int64_t of(const std::vector<int>& group) const;

  const std::vector<Terminals>& trees() const { return trees_; }
  const std::vector<ChunkClass>& others() const { return others_; }
  std::int64_t of_other(const ChunkClass&, const std::vector<int>& group) const;
  // Is there one for which more counts than a path: three terminals or more?
  bool has_wide_trees() const;

 private:
  bool combining_ = false;
  std::vector<Terminals> trees_ = {};    // of different ranks
  std::vector<ChunkClass> others_ = {};  // several sources or several destinations, and not the same
};

}  // namespace chorale
