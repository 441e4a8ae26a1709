// The weakest partition of a network: the groups with the least bandwidth between them for their number.
//
// minimise K(P) / (|P| - 1), K(P) the bandwidth that leaves the groups of P (Cunningham: Optimal attack and
// reinforcement of a network, 1985). Newton's method on the quotient; for a guess x, the partition with the
// least sum of out(S) - x over its groups S comes from the greedy algorithm for the Dilworth truncation, one
// minimum cut a rank (Barahona; Frank). Exact without shared limits. With limits over links that leave one
// rank, out(S) counts the limit where that is less.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// All that Newton's method meets, from single ranks to the weakest; groups are named by one of their ranks.
std::vector<std::vector<int>> weak_partitions(const Topology&);

}  // namespace chorale
