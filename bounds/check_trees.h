// What it costs at least to reach all vertices from one, or to tell some of all. Shares no code with the
// finder's trees.
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

// What it costs at least that each of `receivers` knows of all vertices, in whatever order arcs are used and
// used again: the least, over them, of an arborescence into the one that first knows, and of an arc into each
// of the others, which are entered once more after that. -1 where there are none.
std::int64_t gossip_weight(int vertices, const std::vector<int>& receivers,
                           const std::vector<CheckedArc>& arcs);

}  // namespace chorale
