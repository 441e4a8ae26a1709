// Removes switch nodes: what schedules, bounds and encodings work on has ranks only.
#pragma once

#include "ir/topology.h"
#include "topology/chosen_routes.h"

namespace chorale {

// Every route rank -> switches -> rank without a repeated node or, if these are too many, some of them
// (chosen_routes.h) becomes a direct link; in the second case the result has the machine as its underlay,
// since proofs are to hold for all routes. A link's bandwidth is the least on the route, its alpha the sum,
// its beta the largest. A physical link that several routes use becomes a shared limit with its bandwidth
// over them, which keeps the ends of that link (SharedLimit::cables); limits of the topology carry over to
// all routes that use their links. Limits have the abilities that follow from those of the switches at their
// links' ends. Routes between the same two ranks stay parallel links. A topology without switches is returned
// as it is. Throws InputError if even the fewest routes are too many, if some are chosen and switches
// multicast or reduce, if a route uses two links of one limit: a chunk would count twice, which a limit over
// links cannot express; or if its alpha is over 1e9 us.
Topology flatten(const Topology&);

// With these routes for links.
Topology flat_over(const Topology&, const ChosenRoutes&);

// The routes that flatten takes; none of them where they are too many.
ChosenRoutes routes_of(const Topology&);

}  // namespace chorale
