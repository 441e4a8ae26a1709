// The Alltoall of a machine on which a group of symmetries carries each rank to each.
#pragma once

#include <atomic>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// By shortest paths, in the steps that hops allow, without a search: on rings, tori and hypercubes of any
// size. One schedule; none of other collectives, where the group of graph/free_symmetries.h is smaller, where
// links share capacities, where a rank cannot be reached, or when stopped.
std::vector<Schedule> regular_alltoall(const Topology&, const Collective&,
                                       const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
