// The lowest arc into each vertex is paid and taken off all arcs into it: every arborescence has one arc in,
// so all cost so much less then. What remains is free where the free arcs reach all; a cycle of free arcs is
// made one vertex, since one that enters it anywhere reaches all of it for nothing.
#include "bounds/check_trees.h"

#include <algorithm>
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

// One arborescence for all who may be first: a vertex before them has an arc to each, too expensive for two
// to be used, less the arc that the first does not need.
std::int64_t gossip_weight(int vertices, const std::vector<int>& receivers,
                           const std::vector<CheckedArc>& arcs) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> lowest(vertices, kNone);
  std::int64_t one = 1;  // more than all arcs of any arborescence
  for (const CheckedArc& arc : arcs) {
    if (arc.from != arc.to) lowest[arc.to] = std::min(lowest[arc.to], arc.weight);
    one = std::max(one, arc.weight + 1);
  }
  one *= 2LL * vertices;
  std::vector<CheckedArc> back;
  for (const CheckedArc& arc : arcs) back.push_back({.from = arc.to, .to = arc.from, .weight = arc.weight});
  std::int64_t others = 0;
  for (const int v : receivers) {
    if (lowest[v] == kNone) return receivers.size() == 1 && vertices == 1 ? 0 : -1;
    others += lowest[v];
    back.push_back({.from = vertices, .to = v, .weight = one - lowest[v]});
  }
  const std::int64_t all = arborescence_weight(vertices + 1, vertices, std::move(back));
  return all < 0 || all >= one + one / 2 ? -1 : all - one + others;
}

}  // namespace chorale
