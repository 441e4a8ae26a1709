// Partitions of the ranks of a machine with switches (partitions.h), over all ways through them.
#pragma once

#include <optional>

#include "bounds/partitions.h"

namespace chorale {

// The best of single ranks, of what the same switches join, one hop after the other, and of what fast links connect; each priced by
// what leaves the groups, or what comes into them. None if no chunk must cross. Holds for schedules without in-network compute.
std::optional<PartitionBound> fabric_partition(const Topology& machine, const Collective&);

}  // namespace chorale
