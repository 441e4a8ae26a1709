// Partitions of the ranks of a machine with switches (partitions.h), over all ways through them.
#pragma once

#include <atomic>
#include <optional>

#include "bounds/partitions.h"

namespace chorale {

// The best of single ranks, of what the same switches join, one hop after the other, of what fast links
// connect, and of what a climb over the chosen ways finds (partition_climb.h); each priced by what leaves the
// groups, or what comes into them, on the machine below the ways. None if no chunk must cross. Holds for
// schedules without in-network compute.
std::optional<PartitionBound> fabric_partition(const Topology& ways, const Collective&,
                                               const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
