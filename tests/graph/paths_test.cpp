// Searches in random graphs against slow and obvious ones: costs by relaxing all arcs until nothing changes,
// components by which nodes reach each other.
#include "graph/paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "graph/components.h"

namespace chorale {
namespace {

struct Arc {
  int from = 0, to = 0, cost = 0;
};
struct Graph {
  int nodes = 0;
  std::vector<Arc> arcs = {};
};

constexpr int kNever = std::numeric_limits<int>::max();

// Few costs, so that many paths cost the same; some arcs cost nothing, some lead back to where they begin.
Graph random_graph(std::mt19937& random) {
  Graph graph{.nodes = 1 + static_cast<int>(random() % 12)};
  for (int i = static_cast<int>(random() % 40); i > 0; --i)
    graph.arcs.push_back({.from = static_cast<int>(random() % graph.nodes),
                          .to = static_cast<int>(random() % graph.nodes),
                          .cost = static_cast<int>(random() % 4)});
  return graph;
}

CheapestPaths<int> paths_of(const Graph& graph, const std::vector<int>& sources) {
  return cheapest_paths(graph.nodes, sources, 0, kNever, [&](int n, int so_far, const auto& reach) {
    for (int a = 0; a < std::ssize(graph.arcs); ++a)
      if (graph.arcs[a].from == n) reach(graph.arcs[a].to, a, so_far + graph.arcs[a].cost);
  });
}

std::vector<int> relaxed(const Graph& graph, const std::vector<int>& sources) {
  std::vector<int> cost(graph.nodes, kNever);
  for (int n : sources) cost[n] = 0;
  for (int round = 0; round < graph.nodes; ++round)
    for (const Arc& arc : graph.arcs)
      if (cost[arc.from] != kNever) cost[arc.to] = std::min(cost[arc.to], cost[arc.from] + arc.cost);
  return cost;
}

TEST(Paths, CostWhatRelaxationFinds) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Graph graph = random_graph(random);
    std::vector<int> sources = {static_cast<int>(random() % graph.nodes)};
    if (graph.nodes > 1 && i % 2 == 0) sources.push_back((sources[0] + 1) % graph.nodes);
    const CheapestPaths<int> paths = paths_of(graph, sources);
    ASSERT_EQ(paths.cost, relaxed(graph, sources)) << "graph " << i;
    // Each node but the sources stands behind the one before it, over an arc that pays for the difference.
    EXPECT_EQ(std::ssize(paths.order), std::ranges::count_if(paths.cost, [](int c) { return c != kNever; }));
    EXPECT_TRUE(std::ranges::is_sorted(paths.order, {}, [&](int n) { return paths.cost[n]; }));
    for (const int n : paths.order) {
      const bool is_source = std::ranges::find(sources, n) != sources.end();
      ASSERT_EQ(paths.by[n] < 0, is_source);
      ASSERT_EQ(paths.before[n] < 0, is_source);
      if (is_source) continue;
      const Arc& arc = graph.arcs[paths.by[n]];
      EXPECT_EQ(arc.from, paths.before[n]);
      EXPECT_EQ(arc.to, n);
      EXPECT_EQ(paths.cost[n], paths.cost[arc.from] + arc.cost);
    }
  }
}

// 0 -> 1 -> 3 and 0 -> 2 -> 3 cost the same: the node with the smaller number is taken first, and keeps 3.
TEST(Paths, OfEqualCostsTheFirstStays) {
  const Graph graph{.nodes = 4, .arcs = {{0, 2, 1}, {0, 1, 1}, {2, 3, 1}, {1, 3, 1}}};
  const CheapestPaths<int> paths = paths_of(graph, {0});
  EXPECT_EQ(paths.order, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(paths.before, (std::vector{-1, 0, 0, 1}));
  EXPECT_EQ(paths.by, (std::vector{-1, 1, 0, 3}));
}

// The rate of a path is that of its narrowest arc: 2 over node 1, 3 over node 2.
TEST(Paths, AreTheWidestWhereMoreIsBetter) {
  const Graph graph{.nodes = 4, .arcs = {{0, 1, 9}, {1, 3, 2}, {0, 2, 3}, {2, 3, 5}}};
  const CheapestPaths<int> paths = cheapest_paths(
      4, std::array{0}, kNever, 0,
      [&](int n, int so_far, const auto& reach) {
        for (int a = 0; a < std::ssize(graph.arcs); ++a)
          if (graph.arcs[a].from == n) reach(graph.arcs[a].to, a, std::min(so_far, graph.arcs[a].cost));
      },
      std::greater<>());
  EXPECT_EQ(paths.cost, (std::vector{kNever, 9, 3, 3}));
  EXPECT_EQ(paths.before[3], 2);
}

TEST(Paths, HopsAreCostsOfOneEach) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    Graph graph = random_graph(random);
    for (Arc& arc : graph.arcs) arc.cost = 1;
    std::vector<int> wanted = relaxed(graph, {0});
    std::ranges::replace(wanted, kNever, -1);
    EXPECT_EQ(fewest_hops(graph.nodes, std::array{0},
                          [&](int n, const auto& reach) {
                            for (const Arc& arc : graph.arcs)
                              if (arc.from == n) reach(arc.to);
                          }),
              wanted);
  }
}

// Of a path the middle, one node or two; of a ring all.
TEST(Paths, MiddleNodesHaveTheNearestFarthestNode) {
  const auto middle = [](int nodes, bool ring) {
    return middle_nodes(nodes, [&](int n, const auto& reach) {
      if (ring || n + 1 < nodes) reach((n + 1) % nodes);
      if (ring || n > 0) reach((n + nodes - 1) % nodes);
    });
  };
  EXPECT_EQ(middle(1, false), (std::vector{0}));
  EXPECT_EQ(middle(5, false), (std::vector{2}));
  EXPECT_EQ(middle(4, false), (std::vector{1, 2}));
  EXPECT_EQ(middle(5, true), (std::vector{0, 1, 2, 3, 4}));
}

TEST(Components, AreWhatReachesEachOther) {
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random);
    std::vector<std::vector<int>> heads(graph.nodes), cost;
    for (const Arc& arc : graph.arcs) heads[arc.from].push_back(arc.to);
    for (int n = 0; n < graph.nodes; ++n) cost.push_back(relaxed(graph, {n}));
    const std::vector<int> component = strong_components(
        graph.nodes, [&](int n) -> const auto& { return heads[n]; });
    for (int a = 0; a < graph.nodes; ++a)
      for (int b = 0; b < graph.nodes; ++b)
        EXPECT_EQ(component[a] == component[b], cost[a][b] != kNever && cost[b][a] != kNever);
    // Arcs lead to components of no greater number, and numbers are 0, 1, ...
    for (const Arc& arc : graph.arcs) EXPECT_LE(component[arc.to], component[arc.from]);
    const int most = *std::ranges::max_element(component);
    for (int c = 0; c <= most; ++c) EXPECT_NE(std::ranges::find(component, c), component.end());
  }
}

}  // namespace
}  // namespace chorale
