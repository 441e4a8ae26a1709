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

// Returns the best of the single ranks, of ranks connected by fast links, of the weak partitions
// (weakest_partitions: for AllReduce without shared limits of all partitions), and of what a search finds
// for other chunks and under limits (partition_climb.h). Nothing if no chunk must cross. Once `stop` is
// true, the best of those examined.
std::optional<PartitionBound> best_partition(const Topology&, const Collective&,
                                             const std::atomic<bool>* stop = nullptr);

// Partitions of the ranks of a machine with switches (partitions.h), over all paths through them.

// The best of single ranks, of ranks that the same switches join, one hop after the other, of ranks that fast
// links connect, and of partitions that a climb over the chosen paths finds (partition_climb.h); each priced
// by the links that leave the groups, or that enter them, on the machine below the paths. Nothing if no chunk
// must cross. Holds for schedules without in-network compute.
std::optional<PartitionBound> fabric_partition(const Topology& ways, const Collective&,
                                               const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
