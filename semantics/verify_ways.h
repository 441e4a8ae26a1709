// The referee of ways: are the links of a topology what its underlay carries?
#pragma once

#include <vector>

#include "ir/fault.h"
#include "ir/topology.h"

namespace chorale {

// At most `limit` faults; none where there is no underlay. Wrong is: a way that is no chain of links through
// switches from its link's source to its destination, over each at most once; a link that is wider than one
// of these, has another alpha than their sum, or another beta than the largest; links that together may carry
// more over a link or a shared limit below than that has; a limit that multicasts or reduces, since several
// ways of one value may count once above where they are several below. So what is within the topology's
// bandwidths is within those of the machine below.
std::vector<Fault> way_faults(const Topology&, int limit = 10);

}  // namespace chorale
