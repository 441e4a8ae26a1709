// The cheapest spanning arborescence of a directed graph (Chu and Liu 1965; Edmonds 1967).
#pragma once

#include <vector>

namespace chorale {

struct WeightedArc {
  int from = 0;
  int to = 0;
  double weight = 0;
};

// [arc] -> number of the arc in `arcs`: one into each vertex but `root`, that together reach all vertices
// from `root` at the least weight. Empty if some vertex cannot be reached, or if there is only the root.
// `relaxations` (work) grows by the number of arcs examined.
std::vector<int> cheapest_arborescence(int vertices, int root, const std::vector<WeightedArc>&,
                                       long long& relaxations);

}  // namespace chorale
