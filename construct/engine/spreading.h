// Schedules of collectives that copy, on any machine.
#pragma once

#include <vector>

#include "construct/engine/work_budget.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Schedules of which none is better than another in both steps and rounds, by steps; the first takes as many
// steps as the farthest destination is hops away, which is the fewest. None where a destination cannot be
// reached, or when stopped before the first one. The first is made whatever the effort left.
// Requires a collective that does not combine, every chunk with a rank that has it, and no switches.
std::vector<Schedule> spread(const Topology&, const Collective& copies, WorkBudget&);

// Adds the schedule where none is as good, and removes those that are worse.
void keep_undominated(std::vector<Schedule>&, Schedule);

}  // namespace chorale
