// Lower bounds with their certificates, found before any solver is asked.
//
// A bound is a Claim (ir/frontier.h): "at most these steps: at least these rounds". Topologies are flattened.
// Reduce and ReduceScatter are bounded as their duals on the reversed topology (link numbers stay, so
// certificates do too). An AllReduce is bounded by distance and partitions; those bounds hold for every
// schedule without in-network compute.
#pragma once

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// The fewest steps of any schedule, and the claim that one step less is impossible (Distance, rounds =
// kNoSchedule, steps = fewest - 1). Throws InputError where some chunk can never reach its destination
// (disconnected topology).
struct StepBound {
  int steps = 0;
  Claim claim = {};
};
StepBound fewest_steps(const Topology&, const Collective&);

// The strongest bound on rounds for any number of steps (steps = kAnySteps) that we find: cuts (Newton's
// method over max-flows), the concurrent flow LP, partitions.
Claim fewest_rounds(const Topology&, const Collective&);

// The strongest bound for at most `steps` steps: at least fewest_rounds, and the time-expanded LP where that
// is stronger and small enough.
Claim fewest_rounds_in(const Topology&, const Collective&, int steps);

}  // namespace chorale
