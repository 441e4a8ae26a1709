// The cheapest spanning arborescence of a directed graph (Chu and Liu 1965; Edmonds 1967).
#pragma once

#include <vector>

namespace chorale {

struct WeightedArc {
  int from = 0;
  int to = 0;
  double weight = 0;
};

// Numbers of arcs, one into each vertex but `root`, that together reach all from it at the least weight;
// empty where some vertex cannot be reached (or there is only the root). `looks` grows by the arcs looked at.
std::vector<int> cheapest_arborescence(int vertices, int root, const std::vector<WeightedArc>&,
                                       long long& looks);

}  // namespace chorale
