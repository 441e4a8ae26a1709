// A machine as a flow network: what its links and shared limits carry a round.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// An arc as wide as a link, as a shared limit, or, of neither, as anything.
struct NetworkArc {
  int from = 0;
  int to = 0;
  LinkId link = -1;
  int limit = -1;
};

// Nodes are the ranks, and two for each limit, with the limit as the arc between them. A link under limits
// passes all of them, the nearest to its source first.
//
// What sends carry within bandwidths and limits is a flow here. A flow is such sends if limits are ports
// (ports.h), or come from switches, with a link for every route through them: what enters a limit from one
// link may leave as another.
struct CapacityNetwork {
  int nodes = 0;
  std::vector<NetworkArc> arcs = {};
};

CapacityNetwork capacity_network(const Topology&);

}  // namespace chorale
