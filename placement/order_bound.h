// What no order of nodes can beat.
//
// Two facts are combined. First, what n nodes below a switch send at least, whichever they are
// (placement/order_sets.h). Second, of one communication alone: groups are cut into parts by the switches, and
// parts fit together only if they fill whole groups; a search over multisets of parts, from the leaves up,
// finds the least time.
#pragma once

#include "placement/node_mesh.h"
#include "placement/node_tree.h"

namespace chorale {

// Microseconds of an iteration. `budget`: of elementary steps; beyond it, the bound is weaker.
double order_bound(const NodeMesh&, const NodeTree&, long long budget = 40'000'000);

}  // namespace chorale
