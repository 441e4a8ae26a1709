// Schedules of collectives that bring every chunk to every rank, at the rate of the tightest cut, in few
// steps.
//
// By growth: each chunk grows a tree from where it starts, all at once and depth by depth, and what is taken
// now leaves everything else possible (Edmonds 1973 has the condition, construct/guard.h).
#pragma once

#include <atomic>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Of an Allgather, a Broadcast, or what else brings each chunk to all ranks: by steps, none better than
// another in both steps and rounds. The last has as few rounds as we find, mostly those of the tightest cut.
// None of other collectives, where a rank cannot be reached, where it is not quick, or when stopped. What is
// guarded ends after so many looks (guarded_growth.h): some seconds. Requires a collective that copies, every
// chunk with a rank that has it, and no switches.
std::vector<Schedule> grow_trees(const Topology&, const Collective&, const std::atomic<bool>* stop = nullptr,
                                 long long most_looks = 200'000'000);

}  // namespace chorale
