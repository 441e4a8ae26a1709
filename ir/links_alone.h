// What is left of machines, schedules and results where switches only forward: executors that send value by
// value cannot ask a switch to copy or to add.
#pragma once

#include <vector>

#include "ir/frontier.h"
#include "ir/hierarchy.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Returns the machine whose switches only forward, and whose name says so; one without abilities as it is.
Topology by_links_alone(Topology);

// Returns the same of levels.
Hierarchy by_links_alone(Hierarchy);

// Does the schedule count on switches that multicast or reduce: has a step fewer rounds than it needs where
// they only forward?
bool uses_abilities(const Topology&, const Schedule&);

// Returns the result as executors by links alone have it: each point with the rounds that its sends need
// there, on the frontier if none of the others is better then, and not proven. Claims stay, since a bound of
// switches that can do more holds for those that can do less. A result without abilities is returned as it
// is.
Result by_links_alone(Result);

// Marks as the frontier the best of the points with these numbers, and none of the others.
void mark_frontier(Result&, const std::vector<int>& points);

}  // namespace chorale
