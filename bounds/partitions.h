// Bounds from partitions of the ranks into groups: how often a chunk must cross between groups, whichever
// ranks carry it.
//
// An AllReduce chunk crosses at least 2(k-1) times between k groups (the one-way gossip number: with one
// message at a time, one group must have all information before the k-1 others can receive the last).
// docs/bounds.md has the other collectives.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "bounds/demand.h"

namespace chorale {

struct PartitionBound {
  std::vector<int> group = {};  // by rank
  PriceBound bound = {};        // one entry of prices
};

// The best of the single ranks, of ranks connected by fast links, of the weak partitions (strength.h: for
// AllReduce without shared limits of all partitions), and of what a search finds for other chunks and under
// limits (partition_climb.h). Nothing if no chunk must cross. Once `stop` is true, the best of those
// examined.
std::optional<PartitionBound> best_partition(const Topology&, const Collective&,
                                             const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
