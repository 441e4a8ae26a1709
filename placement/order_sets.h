// What a set of so many nodes must send to the others, whichever nodes they are.
//
// Pushing the nodes of a set down along one axis of the mesh (Bollobas and Leader: Compressions and
// isoperimetric inequalities, 1991) never raises the load of any communication: the load of a group is
// concave in the number of its nodes in the set, and the numbers after the push majorize those before. So
// down-sets dominate. For a line, which has two directions, this holds along the other axes only: its sets
// are sequences of down-sets of the other axes, and are found by dynamic programming.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "placement/node_loads.h"

namespace chorale {

using NodeSetLoads = std::vector<int>;  // by traffic: messages, in the busier direction

// Of a group of k nodes, m of which are in the set: messages to the others, both
// directions of a line together.
int load_of_part(const NodeTraffic&, int m, int k);
// At least, in the busier direction.
int in_one_direction(const NodeTraffic&, int both);

// By size of a set: loads such that each set of this size has, for some of them, as much everywhere. Sizes
// for which a budget of elementary steps does not suffice are left out.
std::map<int, std::set<NodeSetLoads>> least_loads(const NodeMesh&, const std::set<int>& sizes,
                                                  long long budget);

// Can nodes be put below the links such that none sends more than its limit [traffic][uplink]? Pushes along
// the other axes leave as many nodes in each slice of the mesh along the line; what links can have of the
// slices must add up to all of them. True too if there is no such axis, or where the budget ends.
bool slices_fit(const NodeMesh&, const NodeTree&, const std::vector<std::vector<int>>& limits,
                long long budget);

}  // namespace chorale
