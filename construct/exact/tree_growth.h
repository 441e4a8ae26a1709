// Schedules of collectives that bring every chunk to every rank over shortest paths, at the rate of the
// tightest cut, in few steps: exact on rings, tori, hypercubes and meshes, and quick at any size.
//
// By growth: each chunk grows a tree from where it starts, all at once and depth by depth, and what is taken
// now leaves everything else possible.
#pragma once

#include <atomic>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Returns, for an Allgather, a Broadcast, or any collective that brings each chunk to all ranks: a schedule
// of the rounds of the tightest cut, if shortest paths suffice. Empty for other collectives, if a rank
// cannot be reached, if shared limits make receivers depend on each other, or when stopped. Translations of
// an Allgather make a thousand ranks cost as much as one. Requires a collective that copies, every chunk
// with a source, and no switches.
std::vector<Schedule> grow_trees(const Topology&, const Collective&, const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
