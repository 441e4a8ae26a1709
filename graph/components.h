// Finds the strongly connected components of a directed graph (Tarjan 1972), without recursion.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace chorale {

// Returns each node's component, numbered from 0 such that no arc leads from a component to one with a
// greater number. `heads(n)` is a vector of the nodes that arcs from n lead to.
template <typename Heads>
std::vector<int> strong_components(int nodes, const Heads& heads) {
  std::vector<int> component(nodes, -1), number(nodes, -1), low(nodes, 0), open;
  std::vector<std::pair<int, std::size_t>> calls;
  int next = 0, components = 0;
  const auto enter = [&](int n) {
    number[n] = low[n] = next++;
    open.push_back(n);
    calls.push_back({n, 0});
  };
  const auto leave = [&](int n) {
    calls.pop_back();
    if (!calls.empty()) low[calls.back().first] = std::min(low[calls.back().first], low[n]);
    if (low[n] != number[n]) return;
    for (int member = -1; member != n; open.pop_back()) component[member = open.back()] = components;
    ++components;
  };
  for (int root = 0; root < nodes; ++root) {
    if (number[root] < 0) enter(root);
    while (!calls.empty()) {
      auto& [n, at] = calls.back();
      const auto& all = heads(n);
      if (at == all.size()) {
        leave(n);
      } else if (const int to = all[at++]; number[to] < 0) {
        enter(to);
      } else if (component[to] < 0) {
        low[n] = std::min(low[n], number[to]);
      }
    }
  }
  return component;
}

}  // namespace chorale
