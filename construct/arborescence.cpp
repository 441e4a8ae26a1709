// Each vertex takes its cheapest arc in. Cycles of these become vertices of a smaller graph, in which an arc
// into a cycle costs what it costs more than the arc that it replaces; the cheapest solution there determines
// where each cycle is opened. All cycles of a level are contracted at once, so there are few levels.
#include "construct/arborescence.h"

namespace chorale {
namespace {

// By vertex the number of its cheapest arc in, -1 of the root and where there is none.
std::vector<int> cheapest_in(int vertices, int root, const std::vector<WeightedArc>& arcs) {
  std::vector<int> in(vertices, -1);
  for (int a = 0; a < static_cast<int>(arcs.size()); ++a) {
    const WeightedArc& arc = arcs[a];
    if (arc.to == root || arc.from == arc.to) continue;
    if (in[arc.to] < 0 || arc.weight < arcs[in[arc.to]].weight) in[arc.to] = a;
  }
  return in;
}

// By vertex its number when cycles of the chosen arcs are contracted: cycles first. Returns how many cycles
// there are.
int contract(int vertices, const std::vector<int>& in, const std::vector<WeightedArc>& arcs,
             std::vector<int>& to, int& contracted) {
  std::vector<int> seen(vertices, -1);
  to.assign(vertices, -1);
  int cycles = 0;
  for (int start = 0; start < vertices; ++start) {
    int v = start;
    while (seen[v] < 0 && in[v] >= 0) {
      seen[v] = start;
      v = arcs[in[v]].from;
    }
    if (in[v] < 0 || seen[v] != start || to[v] >= 0) continue;
    for (int u = v; to[u] < 0; u = arcs[in[u]].from) to[u] = cycles;
    ++cycles;
  }
  contracted = cycles;
  for (int& number : to)
    if (number < 0) number = contracted++;
  return cycles;
}

}  // namespace

std::vector<int> cheapest_arborescence(int vertices, int root, const std::vector<WeightedArc>& arcs,
                                       long long& relaxations) {
  relaxations += static_cast<long long>(arcs.size()) + vertices;
  std::vector<int> in = cheapest_in(vertices, root, arcs);
  for (int v = 0; v < vertices; ++v)
    if (v != root && in[v] < 0) return {};
  std::vector<int> to;
  int contracted = 0;
  const int cycles = contract(vertices, in, arcs, to, contracted);
  if (cycles > 0) {
    std::vector<WeightedArc> fewer;
    std::vector<int> number;  // of each of them, here
    for (int a = 0; a < static_cast<int>(arcs.size()); ++a) {
      const WeightedArc& arc = arcs[a];
      if (to[arc.from] == to[arc.to]) continue;
      const double saved = to[arc.to] < cycles ? arcs[in[arc.to]].weight : 0;
      fewer.push_back({.from = to[arc.from], .to = to[arc.to], .weight = arc.weight - saved});
      number.push_back(a);
    }
    const std::vector<int> chosen = cheapest_arborescence(contracted, to[root], fewer, relaxations);
    if (chosen.empty()) return {};
    // Into a cycle: the chosen arc there is replaced. Into another vertex: it is its cheapest, or another
    // one.
    for (const int a : chosen) in[arcs[number[a]].to] = number[a];
  }
  std::vector<int> all;
  for (int v = 0; v < vertices; ++v)
    if (v != root) all.push_back(in[v]);
  return all;
}

}  // namespace chorale
