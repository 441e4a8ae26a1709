// Spanning trees spread over an undirected network, where there are too many for matroid union
// (spanning_trees.h).
#pragma once

#include <vector>

#include "construct/spanning_trees.h"

namespace chorale {

// `trees` spanning trees that load the fullest edge little; its load is the trees over it divided by its
// copies, which here are a bandwidth. Not the least that there is, but within some per cent of it
// (mesh:32x32, 64 trees: 34 a unit, and 33 is the least). Low, too: each grows from a middle of the network.
// Requires a connected network.
struct SpreadTrees {
  int rounds = 0;  // of the fullest edge, an integer
  std::vector<std::vector<int>> trees = {};
};
SpreadTrees spread_spanning_trees(int ranks, const std::vector<Edge>&, int trees);

}  // namespace chorale
