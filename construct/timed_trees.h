// Trees in time: what goes to all ranks, what is added up for all, each chunk along its own, all side by side in steps of given
// rounds.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Of an AllReduce, and of what is copied to all ranks (Allgather, Broadcast), what is better than all of `known` in steps or in
// rounds, by steps; few, where what is known is near `bound`, the rounds that no schedule is under (asked only where
// something is looked for). None of other collectives, where a rank cannot be reached, where a turn alone would take
// some hundredths of a second, or when stopped. Links may be wider one way, and limits shared. The same question has the same answer;
// takes some tenths of a second.
std::vector<Schedule> fit_trees(const Topology&, const Collective&, const std::vector<Schedule>& known,
                                const std::function<int()>& bound, const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
