// Searches for partitions of the ranks that chunks must cross often relative to the capacity of the
// crossings: crossings / capacity. For an AllReduce without shared limits partitions.cpp has the best one; to
// find the best partition for chunks of some ranks (Steiner trees) is NP-hard, so this is a search: Newton's
// method for the ratio (Dinkelbach), and for each guess at it a climb that merges groups and moves ranks as
// long as crossings - ratio * capacity grows.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// How often the chunks of a collective cross between the groups of a partition at least (docs/bounds.md,
// "Partition").
//
// Most chunks are *trees*: whatever connects a set of ranks, their terminals, crosses one time fewer than
// there are groups with a terminal. (Sums that are made at once are not: contributions cross one by one.)
// So does a copy from one rank (the terminals are the source and all
// destinations), and a sum for one; a sum of some ranks for the same ranks does so twice. Other chunks are
// counted from their classes.

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
  bool combining_ = false, once_ = false;
  std::vector<Terminals> trees_ = {};    // of different ranks
  std::vector<ChunkClass> others_ = {};  // several sources or several destinations, and not the same
};

struct ClimbLimits {
  long long work = 40'000'000;  // links and terminals examined: a few tenths of a second
  const std::atomic<bool>* stop = nullptr;
};

// Calls `consider` with every partition that may be the best so far (groups by rank, named by a number below
// the ranks); it returns the best ratio that it knows, exactly counted.
void climb_partitions(const Topology&, const Crossings&,
                      const std::function<double(const std::vector<int>& group)>& consider,
                      const ClimbLimits& = {});

// Returns the partition in which each rank is a group of its own.
std::vector<int> single_ranks(int ranks);

// Returns the sides of a grid of rank numbers, for each divisor of the ranks: n / d, and n % d. Rows and
// columns are among them.
std::vector<std::vector<int>> number_partitions(int ranks);

}  // namespace chorale
