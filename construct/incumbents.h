// What is known of a collective on a machine before anything is searched.
#pragma once

#include <atomic>
#include <vector>

#include "bounds/lower_bounds.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// Does each chunk start at some rank?
bool starts_somewhere(const Collective&);

// Schedules that need no solver, of just this collective with just its chunks, by steps: none is worse than
// another in both steps and rounds or as good in both. Each has passed the referee, and says by what it was
// made. There is at least one wherever every destination can be reached by what it wants; there is none where
// one cannot, where the referee would need more than a GiB for what the ranks hold, and when `stop` was set
// before the first was found. Where nothing has to move, it has no steps. With `extra` >= 0 their rounds
// exceed their steps by at most so many: k-synchronous, for k = extra; there is one just as well. Takes
// milliseconds for 16 ranks. Requires a topology without switches, for as many ranks as the collective.
std::vector<Point> incumbents(const Topology&, const Collective&, const std::atomic<bool>* stop = nullptr,
                              int extra = kAnyRounds);

// The one of the fewest steps alone, for who is out of time and has nothing: in about a tenth of a second,
// and none where it would take longer.
std::vector<Point> quick_incumbents(const Topology&, const Collective&, int extra = kAnyRounds);

// Of Allgather, ReduceScatter and Alltoall where symmetries carry each rank to each
// (symmetry/digit_shifts.h): what one rank does is found, and all do it. In as few steps as hops allow, and
// on tori and hypercubes in as few rounds as the bound of one chunk says; half a second for an Allgather of
// 1,024 ranks, five for one of 4,096. Otherwise as above.
std::vector<Point> regular_incumbents(const Topology&, const Collective&,
                                      const std::atomic<bool>* stop = nullptr, int extra = kAnyRounds);

// What is exact for some collectives, or good in few steps, beside the packings of the engine
// (construct/engine.h):
// - of Allgather, Broadcast and what else brings each chunk to all ranks, and of their duals: at the rate of
//   the tightest cut, and with few more rounds for fewer steps (construct/tree_growth.h);
// - of Alltoall, on rings, tori, hypercubes and large meshes, the bound (construct/regular_alltoall.h,
//   construct/product_alltoall.h);
// - of all, where that leaves something to be found: trees and paths on the time-expanded machine
//   (construct/timed_packing.h).
// None on machines on which it is not quick, or when stopped. Otherwise as above.
std::vector<Point> grown_incumbents(const Topology&, const Collective&,
                                    const std::atomic<bool>* stop = nullptr, int extra = kAnyRounds);

}  // namespace chorale
