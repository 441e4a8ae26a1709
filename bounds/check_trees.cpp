// The lowest arc into each vertex is paid and taken off all arcs into it: every arborescence has one arc in,
// so all cost so much less then. What remains is free where the free arcs reach all; a cycle of free arcs is
// made one vertex, since one that enters it anywhere reaches all of it for nothing.
#include "bounds/check_trees.h"

#include <limits>

namespace chorale {

std::int64_t arborescence_weight(int vertices, int root, std::vector<CheckedArc> arcs) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t paid = 0;
  while (vertices > 1) {
    std::vector<std::int64_t> lowest(vertices, kNone);
    std::vector<int> from(vertices, -1);
    for (const CheckedArc& arc : arcs)
      if (arc.from != arc.to && arc.to != root && arc.weight < lowest[arc.to]) {
        lowest[arc.to] = arc.weight;
        from[arc.to] = arc.from;
      }
    for (int v = 0; v < vertices; ++v) {
      if (v == root) continue;
      if (from[v] < 0) return -1;
      paid += lowest[v];
    }
    // Back along the lowest arcs: to the root, or round a cycle.
    std::vector<int> walk(vertices, -1), number(vertices, -1);
    int fewer = 0;
    for (int start = 0; start < vertices; ++start) {
      int v = start;
      for (; v != root && walk[v] < 0; v = from[v]) walk[v] = start;
      if (v == root || walk[v] != start || number[v] >= 0) continue;
      for (int u = v; number[u] < 0; u = from[u]) number[u] = fewer;
      ++fewer;
    }
    if (fewer == 0) return paid;
    for (int& each : number)
      if (each < 0) each = fewer++;
    for (CheckedArc& arc : arcs) {
      if (arc.to != root) arc.weight -= lowest[arc.to];
      arc.from = number[arc.from];
      arc.to = number[arc.to];
    }
    root = number[root];
    vertices = fewer;
  }
  return paid;
}

}  // namespace chorale
