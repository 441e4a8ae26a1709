// Finds cheapest paths from some nodes of a directed graph to all others, and hops (Dijkstra 1959; breadth
// first). A graph is a function: arcs(n, reach) calls reach(to, arc, ...) for each arc that leaves n, in an
// order that decides between paths that cost the same. Checkers have searches of their own
// (bounds/check_prices.cpp).
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace chorale {

template <typename Cost>
struct CheapestPaths {
  std::vector<Cost> cost = {};   // by node; `unreached` where no path leads
  std::vector<int> before = {};  // the node before it on its path; -1 for sources, and where no path leads
  std::vector<int> by = {};      // the arc from there
  std::vector<int> order = {};   // all that are reached, by increasing cost
};

// Returns the paths of least cost. `arcs` gives each arc's head, its number and the cost of the path that it
// ends, made of the cost up to its tail: reach(to, arc, cost), which must not be better than that. A cost is
// better where better(a, b); `unreached` is worse than any.
template <typename Cost, typename Sources, typename Arcs, typename Better = std::less<>>
CheapestPaths<Cost> cheapest_paths(int nodes, const Sources& sources, Cost start, Cost unreached,
                                   const Arcs& arcs, Better better = {}) {
  CheapestPaths<Cost> paths{.cost = std::vector<Cost>(nodes, unreached),
                            .before = std::vector<int>(nodes, -1),
                            .by = std::vector<int>(nodes, -1)};
  using Entry = std::pair<Cost, int>;
  const auto later = [&](const Entry& a, const Entry& b) {
    return better(b.first, a.first) || (!better(a.first, b.first) && a.second > b.second);
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(later)> open(later);
  for (const int n : sources) open.push({paths.cost[n] = start, n});
  while (!open.empty()) {
    const auto [so_far, n] = open.top();
    open.pop();
    if (better(paths.cost[n], so_far)) continue;
    paths.order.push_back(n);
    arcs(n, so_far, [&, n = n](int to, int arc, Cost cost) {
      if (!better(cost, paths.cost[to])) return;
      paths.before[to] = n;
      paths.by[to] = arc;
      open.push({paths.cost[to] = cost, to});
    });
  }
  return paths;
}

// Returns the fewest arcs from the sources to each node, -1 where no path leads. `arcs(n, reach)` calls
// reach(to) for each arc that leaves n.
template <typename Sources, typename Arcs>
std::vector<int> fewest_hops(int nodes, const Sources& sources, const Arcs& arcs) {
  std::vector<int> hops(nodes, -1), queue;
  const auto reach = [&](int n, int distance) {
    if (hops[n] >= 0) return;
    hops[n] = distance;
    queue.push_back(n);
  };
  for (const int n : sources) reach(n, 0);
  for (std::size_t i = 0; i < queue.size(); ++i)
    arcs(queue[i], [&](int to) { reach(to, hops[queue[i]] + 1); });
  return hops;
}

// Returns the nodes whose farthest node is nearest, by hops, in order; for `arcs` as of fewest_hops().
// Requires that each node reaches all others.
template <typename Arcs>
std::vector<int> middle_nodes(int nodes, const Arcs& arcs) {
  std::vector<int> middle;
  int least = nodes;
  for (int n = 0; n < nodes; ++n) {
    const int farthest = std::ranges::max(fewest_hops(nodes, std::vector{n}, arcs));
    if (farthest < least) middle.clear();
    least = std::min(least, farthest);
    if (farthest == least) middle.push_back(n);
  }
  return middle;
}

}  // namespace chorale
