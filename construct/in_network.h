// Schedules that leave copies and sums to switches (ir/topology.h).
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"

namespace chorale {

// Returns, undominated in steps and rounds:
// - In one step: each holder of a chunk sends it to all that want it; for a sum, each contributor sends its
//   value to all that want it.
// - A sum that several ranks want also by an owner: all send to it, and it sends to all. Where abilities join
//   only units of ranks, an owner in each unit adds up for it, the owners add up among themselves, and each
//   sends the result to its unit. Chunks go in waves; one wave is added up while the one before is
//   distributed: both directions at once.
// - A copy that several units want: in its unit at once, from owner to owner, and in each unit by its owner;
// in
//   waves, too.
// Empty if no limit has an ability, if ranks that would have to send to each other have no link, or if that
// would be some million sends. The caller verifies them.
std::vector<Schedule> in_network(const Topology&, const Collective&);

}  // namespace chorale
