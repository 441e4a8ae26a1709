// Schedules that leave copies and sums to switches (ir/topology.h), so that there is nothing for ranks to
// pass on.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// - In one step: who has a chunk sends it to all who want it; of a sum, everybody's value to all who want it.
// - Of a sum that several ranks want also by an owner: all send to it, it sends to all. In waves of chunks, such that one
//   wave is added up while the one before is told: both directions at once.
// None where no limit has an ability, where ranks that would have to send to each other have no link, and
// where that would be some million sends. To be refereed.
std::vector<Schedule> over_switches(const Topology&, const Collective&);

}  // namespace chorale
