// The verifier of routes: are the links of a topology paths of its underlay, within its capacities?
#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/topology.h"

namespace chorale {

// Returns at most `limit` faults; none if there is no underlay. Faults are: a route that is not a chain of
// links through switches from its link's source to its destination, over each at most once; a link that is
// wider than one of these, has another alpha than their sum, or another beta than the largest; links that
// together may carry more over a link or a shared limit below than its capacity; a limit that multicasts or
// reduces, since several routes of one value may count once above where they are several below. So a load
// within the topology's bandwidths is within those of the machine below.
std::vector<Fault> route_faults(const Topology&, int limit = 10);

}  // namespace chorale
