// The Alltoall of a machine on which a group of symmetries carries each rank to each.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// An edge colouring assigns uses to steps, when their order does not matter.

// `uses`: [item][kind] -> how often the item is to use a kind of resource. Returns [item][step] -> the kind
// that it uses then, or -1. Each item uses at most one kind per step; each kind is used at most rounds *
// width times in all steps together, and at most r * width times in a step of r rounds. Nothing if an item
// has more uses than there are steps, if a kind has too many in all, or, which is rare, if rounds cannot be
// spread evenly.
std::optional<std::vector<std::vector<int>>> edge_colours(std::vector<std::vector<int>> uses,
                                                          const std::vector<int>& widths, int steps,
                                                          int rounds);

// Returns schedules by shortest paths, in the steps that hops allow, without a search: on rings, tori and
// hypercubes of any size. One schedule; none of other collectives, where the group of
// graph/automorphisms.h is smaller, where links share capacities, where a rank cannot be reached, or when
// stopped.
std::vector<Schedule> regular_alltoall(const Topology&, const Collective&,
                                       const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
