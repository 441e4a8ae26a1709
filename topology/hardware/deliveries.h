// What switches that copy and add deliver.
#pragma once

#include "ir/topology.h"

namespace chorale {

// Returns what a switch with abilities delivers per round at most, in chunks, copies and added values one by
// one: what the links on its narrower side carry, times the gain.
double deliveries(const Topology&, Node at);

}  // namespace chorale
