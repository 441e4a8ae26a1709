// Sums along one combination tree (ir/sum_order.h): trees that suit a machine, and schedules along a given
// one.
#pragma once

#include <vector>

#include "construct/engine/work_budget.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/sum_order.h"
#include "ir/topology.h"

namespace chorale {

// Returns, of a few trees (halves of the ranks, level by level; along the widest ring; pairs of linked
// parts, merged again and again) the one along which the constructions of this room have the fewest rounds
// per chunk, of equals the fewest steps. Requires a machine without switches and a combining collective.
CombinationTree suitable_tree(const Topology&, const Collective&);

// Schedules of a combining collective whose order is fixed, none better than another in steps and rounds. For
// each chunk and each inner node of the tree one of the ranks that hold the two operands sends to the other
// one, such that links are loaded evenly; what the last one has is copied to the destinations. None where no
// two linked ranks come to hold the operands of some node.
std::vector<Schedule> sums_in_order(const Topology&, const Collective&, WorkBudget&);

}  // namespace chorale
