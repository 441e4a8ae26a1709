// Schedules of few steps: trees and paths packed on the time-expanded machine.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Edge relaxations: about a second.
inline constexpr long long kTimedWork = 60'000'000;

// Schedules that are better than all of `known` in steps or in rounds, by steps, Pareto-optimal; few where
// the known points are near `bound`, the rounds that no schedule is under (called only when a search starts).
// Empty if a rank cannot be reached, if an iteration alone would take some hundredths of a second, or when
// stopped. Requires a machine without switches; links may have different bandwidths in the two directions,
// and share capacity. Deterministic.
std::vector<Schedule> timed_packing(const Topology&, const Collective&, const std::vector<Schedule>& known,
                                    const std::function<int()>& bound,
                                    const std::atomic<bool>* stop = nullptr, long long work = kTimedWork);

}  // namespace chorale
