// Removes switch nodes: what schedules, bounds and encodings work on has ranks only.
#pragma once

#include "ir/topology.h"

namespace chorale {

// Every route rank -> switches -> rank without a repeated node, or, where these are too many, every one of the fewest hops
// between its ends, becomes a direct link; the name then ends with "by its shortest ways", since what is proven of the result
// holds for these alone. A link's bandwidth is the least
// on the way, its alpha the sum, its beta the largest. A physical link that several routes use becomes a
// shared limit with its bandwidth over them; limits of the topology carry over to all routes that use their
// links. Routes between the same two ranks stay parallel links. A topology without switches is returned as it
// is. Throws InputError where there are more than 100,000 routes or
// more hops on all ways than can be looked at in a second, or where a route uses two links of one
// limit: a chunk would count twice, which a limit over links cannot say.
Topology flatten(const Topology&);

// Which routes flatten takes; with too many even of the shortest it throws.
enum class Ways { All, Shortest, TooMany };
Ways ways_of(const Topology&);

}  // namespace chorale
