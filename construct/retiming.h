// A schedule's sends in other steps.
#pragma once

#include <vector>

#include "construct/work_budget.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Schedules of the same sends, each as early as what it reads is there and as links and limits have room, in
// steps of at most w rounds, for w from 1 on, growing by a third (but for what must happen at once and takes
// more). Every rank's values come about as before, so the schedule's postcondition stays. Sends of other
// chunks over other links, which followed each other, now overlap. Requires a schedule that the verifier
// accepts. There are as many as the work budget allows.
std::vector<Schedule> retimings(const Topology&, const Schedule&, WorkBudget&);

}  // namespace chorale
