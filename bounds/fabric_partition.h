// Partitions of the ranks of a machine with switches (partitions.h), over all paths through them.
#pragma once

#include <atomic>
#include <optional>

#include "bounds/partitions.h"

namespace chorale {

// The best of single ranks, of ranks that the same switches join, one hop after the other, of ranks that fast
// links connect, and of partitions that a climb over the chosen paths finds (partition_climb.h); each priced
// by the links that leave the groups, or that enter them, on the machine below the paths. Nothing if no chunk
// must cross. Holds for schedules without in-network compute.
std::optional<PartitionBound> fabric_partition(const Topology& ways, const Collective&,
                                               const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
