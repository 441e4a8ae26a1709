// What is known of a collective on a machine before anything is searched.
#pragma once

#include <atomic>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// Schedules that need no solver, of just this collective with just its chunks, by steps: none is worse than
// another in both steps and rounds or as good in both. Each has passed the referee; `method` is the name of a hand-written algorithm,
// or "routed". There is at least one wherever every destination can be reached by what it wants; there is none
// where one cannot, where the referee would need more than a GiB for what the ranks hold, and when `stop` was
// set before the first was found. Where nothing has to move, it has no steps. With `extra` >= 0 their rounds exceed
// their steps by at most so many: k-synchronous, for k = extra; there is one just as well.
// Takes milliseconds for 16 ranks. Requires a topology without switches, for as many ranks as the collective.
std::vector<Point> incumbents(const Topology&, const Collective&, const std::atomic<bool>* stop = nullptr,
                              int extra = kAnyRounds);

// At the rate of the tightest cut, and with few more rounds for fewer steps (construct/tree_growth.h): of Allgather,
// Broadcast and what else brings each chunk to all ranks, and of their duals. Of an AllReduce near the rate of the weakest
// partition (construct/sums_on_trees.h), where links are as wide both ways. None of other collectives, on machines on
// which it is not quick, or when stopped. Otherwise as above. Takes seconds for 1,024 ranks whose digits turn (symmetry/digit_shifts.h).
std::vector<Point> grown_incumbents(const Topology&, const Collective&,
                                    const std::atomic<bool>* stop = nullptr, int extra = kAnyRounds);

}  // namespace chorale
