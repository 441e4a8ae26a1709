// Schedules for machines on which spreading takes long: every rank can send to every other, but few chunks
// per round. A growth plan (bounds/growth.h) gives the number of ranks that get each chunk in each step; here
// these ranks, and the senders, are chosen.
//
// In a step, a chunk's new holders are the ranks that have got the least so far, so that what they can
// receive is used evenly; senders are then found by bipartite matching, so none is missed. Which of equal
// ranks is taken is random: another try makes another schedule.
#pragma once

#include <optional>

#include "bounds/growth.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// A verified schedule that follows the plan, or none found (which proves nothing). Requires a collective that
// does not combine, and a plan of it. The same seed gives the same schedule.
std::optional<Schedule> fill_plan(const Topology&, const Collective&, const GrowthPlan&, unsigned seed);

}  // namespace chorale
