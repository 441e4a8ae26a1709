// Lower bounds with their certificates, found before any solver is asked.
//
// A bound is a Claim (ir/frontier.h): "at most these steps: at least these rounds". Topologies are flattened.
// What is found has been accepted by the checker (check.h) before it is returned. docs/bounds.md proves each
// bound.
//
// A sum with one destination is bounded as its dual on the reversed topology; one with several by partitions,
// and by what one contribution needs to reach all destinations, or all contributions one. All of this holds
// for every schedule without in-network compute.
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
// is stronger and small enough. Whoever only needs to know whether there are `enough` says so: then no
// stronger bound is looked for.
Claim fewest_rounds_in(const Topology&, const Collective&, int steps, int enough = kNoSchedule);

}  // namespace chorale
