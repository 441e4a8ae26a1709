// Copies to all ranks in few steps, where what comes in must still be spread: boxes joined by a few wires, leaves and spines.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Schedules that are better than all of `known` in steps or in rounds, by steps, none better than another in both. `bound`: rounds
// that no schedule is under; nothing is looked for where `known` is near. None of collectives that do not copy each chunk to all
// ranks, where a rank cannot be reached, where mixing would take half a second, or when stopped. The same question has the same
// answer. Takes some tenths of a second.
std::vector<Schedule> mixed_trees(const Topology&, const Collective&, const std::vector<Schedule>& known,
                                  const std::function<int()>& bound, const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
