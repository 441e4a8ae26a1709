// What it costs at least to reach all vertices from one. Shares no code with the finder's trees.
#pragma once

#include <cstdint>
#include <vector>

namespace chorale {

struct CheckedArc {
  int from = 0;
  int to = 0;
  std::int64_t weight = 0;  // >= 0, at most 2^40
};

// The weight of the cheapest spanning arborescence out of vertex `root` (Chu and Liu 1965; Edmonds 1967); -1
// where some vertex cannot be reached. Arcs are examined once for each round of contractions, of which there
// are at most as many as vertices.
std::int64_t arborescence_weight(int vertices, int root, std::vector<CheckedArc> arcs);

}  // namespace chorale
