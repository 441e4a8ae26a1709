// Schedules of what goes to one rank each: Alltoall, Scatter, Gather, and custom collectives like them (alltoallv).
//
// Each chunk has a way in time, a link a step or waiting, and all ways fit side by side into steps of given rounds.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// By steps, none better than another in both steps and rounds; the first has the fewest steps that hops allow. `bound`: says how many
// rounds no schedule is under, and is asked only where ways are looked for; who has reached it looks no further. None of other collectives, where a destination cannot be
// reached, where it is not quick (some ten thousand chunks, or as many for each rank of an Alltoall on a machine whose digits
// turn, symmetry/digit_shifts.h; an Alltoall on rows and columns, product_ways.h, is always quick), or when stopped. Requires no switches. The same question has the same answer.
std::vector<Schedule> fit_ways(const Topology&, const Collective&, const std::function<int()>& bound,
                               const std::atomic<bool>* stop = nullptr);

// Of an Alltoall where digits turn each rank into each other, and links share no limits: by shortest paths, in
// the steps that hops allow, without a search. None elsewhere, or when stopped.
std::vector<Schedule> coloured_ways(const Topology&, const Collective&, const std::atomic<bool>* stop);

}  // namespace chorale
