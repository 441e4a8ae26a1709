// AllReduce in few steps: each chunk is added up along one tree and told along another, in time, and all of them fit side by
// side into steps of given rounds.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// What is better than all of `known` in steps or in rounds, by steps; little, where what is known is near `bound`, the rounds that
// no schedule is under (asked only where something is looked for). None of other collectives, where a rank cannot be reached,
// or when stopped. Links may be wider one way, and limits shared. The same question has the same answer; takes a second.
std::vector<Schedule> fit_sums(const Topology&, const Collective&, const std::vector<Schedule>& known,
                               const std::function<int()>& bound, const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
