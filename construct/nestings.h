// Divisions of a machine into boxes of boxes.
#pragma once

#include <vector>

#include "ir/outline.h"
#include "ir/topology.h"

namespace chorale {

// Divisions of the ranks into equal groups of consecutive ranks, of one and two levels of groups, such that
// all groups are the same graph by themselves, each is connected, and links inside are at least 1.5 times as
// wide as links across, limits over several links divided evenly. Those that are widest inside come first; at
// most eight. Names as of levels_of (topology/levels.h): rank, node, rack.
std::vector<Nesting> nestings(const Topology&);

}  // namespace chorale
