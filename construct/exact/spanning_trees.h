// Spanning trees side by side in an undirected network.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

struct Edge {
  Rank a = 0;
  Rank b = 0;
  int copies = 1;  // trees that it may be in
};

// As many trees as were asked for, by the numbers of their edges; or none, and `group` by rank: a partition
// into k groups with fewer copies between groups than trees * (k - 1), which every tree crosses k - 1 times
// (Nash-Williams, Tutte 1961).
struct TreePacking {
  std::vector<std::vector<int>> trees = {};
  std::vector<int> group = {};
};

// Requires a connected network. Trees start near ranks of small eccentricity (far from no rank), and are low
// where that is easy.
TreePacking pack_spanning_trees(int ranks, const std::vector<Edge>&, int trees);

// Spanning trees made low.

// Other trees, as many, that use no edge more often than it has copies, mostly lower: a tree's height is seen
// from its middle. 4 * ranks * height + depths, added up over the trees, is never more than of those given; a
// height may be, where depths fall. Each of `trees` must span the ranks, by numbers of edges.
std::vector<std::vector<int>> lowered(int ranks, const std::vector<Edge>& edges,
                                      std::vector<std::vector<int>> trees, unsigned seed = 1);

// Heights of a tree, from the middle of its longest path; and of all ranks the depths, added up.
struct TreeDepths {
  int height = 0;
  int depths = 0;
};
TreeDepths depths_of(int ranks, const std::vector<Edge>& edges, const std::vector<int>& tree);

}  // namespace chorale
