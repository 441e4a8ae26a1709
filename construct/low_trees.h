// Spanning trees made low.
#pragma once

#include <vector>

#include "construct/spanning_trees.h"

namespace chorale {

// Other trees, as many, that use no edge more often than it has copies, mostly lower: a tree's height is seen
// from its middle. 4 * ranks * height + depths, added up over the trees, is never more than of those given; a
// height may be, where depths fall. Each of `trees` must span the ranks, by numbers of edges.
std::vector<std::vector<int>> lowered(int ranks, const std::vector<Edge>& edges,
                                      std::vector<std::vector<int>> trees, unsigned seed = 1);

// Of a tree, from the middle of its longest path; and of all ranks the depths, added up.
struct TreeDepths {
  int height = 0;
  int depths = 0;
};
TreeDepths depths_of(int ranks, const std::vector<Edge>& edges, const std::vector<int>& tree);

}  // namespace chorale
