// Searches for an order of nodes: local, and exhaustive.
#pragma once

#include <vector>

#include "placement/node_loads.h"
#include "placement/node_mesh.h"
#include "placement/node_tree.h"
#include "placement/order_bound.h"

namespace chorale {

// Is a better than b by more than rounding?
bool takes_less(const OrderTime& a, const OrderTime& b);

// Begins with the nodes along all nestings of the axes' prime factors, put on the leaves from one side of the
// tree to the other; the best of these are improved by swaps (simulated annealing), first of the time, which
// ends early where the bound is met, then of what exceeds times that the bound admits, the least ones first,
// which a time, being a sum of maxima, does not lead to.
LeafOfNode search_order(const NodeMesh&, const NodeTree&, const OrderBound&, long long moves);

// True: what the bound admits below this time does not fit the slices of a line.
bool refuted_by_slices(const NodeMesh&, const NodeTree&, const OrderBound&, double us);

// Is there an order that takes less than `best`, which becomes it? Branch and bound: node by node on a leaf,
// on one only of leaves that are alike so far. False: `nodes` of its tree did not suffice.
bool search_all_orders(const NodeMesh&, const NodeTree&, long long nodes, LeafOfNode& best);

}  // namespace chorale
