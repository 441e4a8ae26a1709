// Schedules of collectives that bring every chunk to every rank, at the rate of the tightest cut, in few
// steps.
//
// By growth: each chunk grows a tree from where it starts, all at once and depth by depth, and what is taken
// now leaves everything else possible (Edmonds 1973 has the condition, construct/feasibility_oracle.h).
#pragma once

#include <atomic>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// For an Allgather, a Broadcast, or any collective that brings each chunk to all ranks: schedules by steps,
// Pareto-optimal in (steps, rounds). The last has as few rounds as are found, mostly those of the tightest
// cut. Empty for other collectives, if a rank cannot be reached, if it would not be quick, or when stopped.
// Growth under the oracle has a work budget (oracle_growth.h): some seconds. Requires a collective that
// copies, every chunk with a source, and no switches.
std::vector<Schedule> grow_trees(const Topology&, const Collective&, const std::atomic<bool>* stop = nullptr,
                                 long long most_relaxations = 200'000'000);

}  // namespace chorale
