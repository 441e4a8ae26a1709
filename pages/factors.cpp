// Two edges belong to one factor if they are related by the closure of two relations (Feder 1992; Imrich and
// Klavzar, "Product Graphs"): Theta (Djokovic, Winkler): d(x,u) + d(y,v) != d(x,v) + d(y,u) for edges xy and
// uv; and tau: xy and xz where y and z are not adjacent and x is their only common neighbour. Its classes are
// those of the unique prime factors of a connected graph. A node's position in a factor is its component when
// the edges of that class are cut.
#include "pages/factors.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

constexpr std::size_t kMostEdges = 4096;  // pairs of edges are examined: 0.1 s

using Edge = std::pair<int, int>;

bool adjacent(const Graph& g, int a, int b) {
  return std::binary_search(g[a].begin(), g[a].end(), b);
}

std::vector<Edge> edges_of(const Graph& g) {
  std::vector<Edge> edges;
  for (int a = 0; a < static_cast<int>(g.size()); ++a)
    for (int b : g[a])
      if (a < b) edges.emplace_back(a, b);
  return edges;
}

// tau, for the edges (x, y) and (x, z). Edges of two factors at one node span a square, whose fourth corner
// is a second common neighbour of y and z; where that is missing both are edges of one factor.
bool must_turn(const Graph& g, int x, int y, int z) {
  if (adjacent(g, y, z)) return false;
  return std::none_of(g[y].begin(), g[y].end(),
                      [&](int other) { return other != x && adjacent(g, other, z); });
}

// The set of each element, 0 .. number of sets - 1, by their first elements.
std::vector<int> numbered(DisjointSets& sets) {
  std::map<int, int> number;
  std::vector<int> result;
  for (const int first : sets.representatives())
    result.push_back(number.emplace(first, static_cast<int>(number.size())).first->second);
  return result;
}

// The class of each edge, 0 .. number of classes - 1. Every pair of edges is tested, which kMostEdges bounds;
// recognition in linear time (Imrich, Peterin 2007) is not needed for machines of that size.
std::vector<int> classes_of(const Graph& g, const std::vector<Edge>& edges) {
  std::vector<std::vector<int>> d;
  for (int n = 0; n < static_cast<int>(g.size()); ++n) d.push_back(hops_in(g, n));
  const int count = static_cast<int>(edges.size());
  DisjointSets joined(count);
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < i; ++j) {
      const auto [x, y] = edges[i];
      const auto [u, v] = edges[j];
      if (joined.find(i) == joined.find(j)) continue;
      const bool theta = d[x][u] + d[y][v] != d[x][v] + d[y][u];
      const bool tau = (x == u && must_turn(g, x, y, v)) || (x == v && must_turn(g, x, y, u)) ||
                       (y == u && must_turn(g, y, x, v)) || (y == v && must_turn(g, y, x, u));
      if (theta || tau) joined.join(i, j);
    }
  return numbered(joined);
}

// The component of each node without the edges of the class, numbered by their first nodes.
std::vector<int> components_without(const std::vector<Edge>& edges, const std::vector<int>& of, int cut,
                                    int nodes) {
  DisjointSets joined(nodes);
  for (std::size_t e = 0; e < edges.size(); ++e)
    if (of[e] != cut) joined.join(edges[e].first, edges[e].second);
  return numbered(joined);
}

// Kind of a connected graph that is one factor, and its nodes in order, by degrees: n - 1 at all nodes of a
// complete graph, 2 at all of a cycle, 1 or 2 on a path. Paths are walked from an end, cycles from node 0.
std::pair<GraphFactor::Kind, std::vector<int>> in_order(const Graph& g) {
  const int n = static_cast<int>(g.size());
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto all_have = [&](std::size_t least, std::size_t most) {
    return std::all_of(g.begin(), g.end(), [&](const std::vector<int>& next) {
      return next.size() >= least && next.size() <= most;
    });
  };
  if (n > 3 && all_have(n - 1, n - 1)) return {GraphFactor::Kind::Complete, order};
  if (n == 1 || !all_have(1, 2)) return {n == 1 ? GraphFactor::Kind::Path : GraphFactor::Kind::Other, order};
  const bool cycle = all_have(2, 2);
  int at = 0;
  if (!cycle)
    while (g[at].size() != 1) ++at;
  order = {at};
  for (int before = -1; static_cast<int>(order.size()) < n;) {
    const int next = g[at][0] != before ? g[at][0] : g[at][1];
    before = std::exchange(at, next);
    order.push_back(at);
  }
  return {cycle ? GraphFactor::Kind::Cycle : GraphFactor::Kind::Path, order};
}

// The factor is the quotient by the components: a node for each, an edge where some edge joins two of them.
GraphFactor factor_of(const Graph& g, const std::vector<int>& component) {
  const int size = 1 + *std::max_element(component.begin(), component.end());
  Graph quotient(size);
  for (std::size_t a = 0; a < g.size(); ++a)
    for (int b : g[a])
      if (component[a] != component[b]) quotient[component[a]].push_back(component[b]);
  for (std::vector<int>& next : quotient) {
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
  }
  const auto [kind, order] = in_order(quotient);
  std::vector<int> position(size);
  for (int i = 0; i < size; ++i) position[order[i]] = i;
  GraphFactor factor{.kind = kind, .size = size, .at = {}};
  for (int c : component) factor.at.push_back(position[c]);
  return factor;
}

// (0, 0), (1, 0), (1, 1), (0, 1) are positions 0 to 3 of the cycle.
GraphFactor square(const GraphFactor& a, const GraphFactor& b) {
  GraphFactor cycle{.kind = GraphFactor::Kind::Cycle, .size = 4, .at = {}};
  for (std::size_t n = 0; n < a.at.size(); ++n) cycle.at.push_back(b.at[n] == 0 ? a.at[n] : 3 - a.at[n]);
  return cycle;
}

}  // namespace

std::vector<int> hops_in(const Graph& g, int from) {
  std::vector<int> hops(g.size(), -1), queue = {from};
  hops[from] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (int next : g[queue[i]])
      if (hops[next] < 0) {
        hops[next] = hops[queue[i]] + 1;
        queue.push_back(next);
      }
  return hops;
}

std::vector<GraphFactor> factors_of(const Graph& g, DrawingWork& work, bool squares) {
  const int nodes = static_cast<int>(g.size());
  std::vector<int> all(nodes);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<Edge> edges = edges_of(g);
  const std::vector<int> hops = hops_in(g, 0);
  const bool connected = std::find(hops.begin(), hops.end(), -1) == hops.end();
  const bool complete = edges.size() == static_cast<std::size_t>(nodes) * (nodes - 1) / 2;
  if (!connected) return {{.kind = GraphFactor::Kind::Other, .size = nodes, .at = all}};
  const auto pairs = static_cast<long long>(edges.size() * edges.size() / 2);
  if (nodes < 2 || complete || edges.size() > kMostEdges || !work.take(pairs)) return {factor_of(g, all)};

  const std::vector<int> of = classes_of(g, edges);
  std::vector<GraphFactor> factors;
  int lone = -1;  // an edge that waits for another
  for (int c = 0; c <= *std::max_element(of.begin(), of.end()); ++c) {
    GraphFactor factor = factor_of(g, components_without(edges, of, c, nodes));
    const bool edge = factor.size == 2 && squares;
    if (edge && lone >= 0) {
      factors[lone] = square(factors[lone], factor);
      lone = -1;
    } else {
      if (edge) lone = static_cast<int>(factors.size());
      factors.push_back(std::move(factor));
    }
  }
  return factors;
}

}  // namespace chorale
