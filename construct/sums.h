// Schedules of collectives that combine, on any machine.
#pragma once

#include <vector>

#include "construct/engine/work_budget.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Schedules of which none is better than another in both steps and rounds, by steps. At least one wherever
// every contribution can reach each destination, whatever the effort left; none otherwise, or when stopped
// before the first one. With `extra` >= 0 they are k-synchronous, for k = extra (construct/more_steps.h),
// which leaves at least one, too. Requires a collective that combines, every chunk with a rank that has it,
// and no switches.
std::vector<Schedule> add_up(const Topology&, const Collective& sums, WorkBudget&, int extra);

}  // namespace chorale
