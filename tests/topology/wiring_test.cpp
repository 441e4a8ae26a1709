#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tests/kit/random.h"
#include "tests/topology/alltoall_rounds.h"
#include "topology/builders.h"
#include "topology/wiring/family.h"

namespace chorale {
namespace {

using test::below;

// The obvious: distances between all pairs, through each third.
std::vector<std::vector<int>> distances(const Topology& topology) {
  const int n = topology.ranks;
  std::vector<std::vector<int>> far(n, std::vector<int>(n, 1'000));
  for (int a = 0; a < n; ++a) far[a][a] = 0;
  for (const Link& link : topology.links) far[link.src][link.dst] = 1;
  for (int via = 0; via < n; ++via)
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) far[a][b] = std::min(far[a][b], far[a][via] + far[via][b]);
  return far;
}

Topology circulant(int n, const std::vector<int>& steps) {
  Topology topology{.ranks = n};
  for (int rank = 0; rank < n; ++rank)
    for (const int step : steps) topology.links.push_back({.src = rank, .dst = (rank + step) % n});
  return topology;
}

// All sets of steps, with their inverses, of so many links.
std::vector<std::vector<int>> step_sets(int n, int degree) {
  std::vector<std::vector<int>> sets;
  for (int chosen = 0; chosen < 1 << (n / 2); ++chosen) {
    std::set<int> steps;
    for (int s = 1; s <= n / 2; ++s)
      if ((chosen >> (s - 1) & 1) == 1) steps.insert({s, n - s});
    if (static_cast<int>(steps.size()) == degree) sets.emplace_back(steps.begin(), steps.end());
  }
  return sets;
}

double number(const Rate& rate) {
  return static_cast<double>(rate.rounds) / static_cast<double>(rate.chunks);
}

// Against all sets of steps: the same distances, and as many graphs as sets up to multipliers.
TEST(Wiring, CirculantsAreThoseOfAllSetsOfSteps) {
  for (int n = 3; n <= 16; ++n)
    for (int degree = 2; degree <= std::min(n - 1, 6); ++degree) {
      std::set<std::pair<long long, int>> slow, fast;
      std::set<std::vector<int>> up_to_multipliers;
      for (const std::vector<int>& steps : step_sets(n, degree)) {
        const std::vector<int> far = distances(circulant(n, steps))[0];
        if (std::ranges::max(far) >= 1'000) continue;
        slow.insert({std::accumulate(far.begin(), far.end(), 0LL), std::ranges::max(far)});
        std::vector<int> least = steps;
        for (int unit = 2; unit < n; ++unit) {
          if (std::gcd(unit, n) != 1) continue;
          std::vector<int> moved;
          for (const int step : steps) moved.push_back(step * unit % n);
          std::ranges::sort(moved);
          least = std::min(least, moved);
        }
        up_to_multipliers.insert(least);
      }
      long long graphs = 0;
      for (const CayleyGraph& graph : wirings(n, degree).graphs) {
        if (graph.group->factors.size() != 1) continue;
        ++graphs;
        fast.insert({graph.distances, graph.diameter});
        const std::vector<int> far = distances(machine_of(graph, 1, 1))[0];
        EXPECT_EQ(graph.distances, std::accumulate(far.begin(), far.end(), 0LL)) << name_of(graph);
        EXPECT_EQ(degree, static_cast<int>(links_of(graph).size()));
      }
      EXPECT_EQ(slow, fast) << n << ", " << degree;
      EXPECT_EQ(graphs, std::ssize(up_to_multipliers)) << n << ", " << degree;
    }
}

TEST(Wiring, BoundsOfAlltoallAreTheOptimumOfItsFlows) {
  std::mt19937 random(2);
  int checked = 0, above_distances = 0;
  for (int n : {5, 6, 8, 9, 10, 12})
    for (int degree : {2, 3, 4, 5}) {
      std::vector<CayleyGraph> graphs = wirings(n, degree).graphs;
      for (int i = 0; i < 3 && !graphs.empty(); ++i) {
        const CayleyGraph& graph = graphs[below(random, static_cast<int>(graphs.size()))];
        const double slow = test::alltoall_rounds(machine_of(graph, 1, 1)),
                     fast = number(alltoall_bound(graph));
        EXPECT_NEAR(slow, fast, 1e-6) << name_of(graph);
        above_distances += fast > static_cast<double>(graph.distances) / degree + 1e-9 ? 1 : 0;
        ++checked;
      }
    }
  EXPECT_GT(checked, 40);
  EXPECT_GT(above_distances, 3);  // where links of some generator are scarce
}

TEST(Wiring, CanonicalLinksAreThoseOfIsomorphicMachines) {
  std::mt19937 random(3);
  int alike = 0, unlike = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<std::vector<int>> sets = step_sets(7, 4);
    const Topology a = circulant(7, sets[below(random, static_cast<int>(sets.size()))]);
    Topology b = circulant(7, sets[below(random, static_cast<int>(sets.size()))]);
    if (trial % 2 == 0) std::swap(b.links[below(random, 28)].dst, b.links[below(random, 28)].dst);
    const auto cables = [](const Topology& topology, const std::vector<int>& to) {
      std::multiset<std::pair<int, int>> all;
      for (const Link& link : topology.links) all.insert({to[link.src], to[link.dst]});
      return all;
    };
    std::vector<int> to(7);
    std::iota(to.begin(), to.end(), 0);
    const auto wanted = cables(a, to);
    bool isomorphic = false;
    do isomorphic = cables(b, to) == wanted;
    while (!isomorphic && std::ranges::next_permutation(to).found);
    EXPECT_EQ(isomorphic, canonical_links(a) == canonical_links(b));
    ++(isomorphic ? alike : unlike);
  }
  EXPECT_GT(alike, 5);
  EXPECT_GT(unlike, 5);
}

TEST(Wiring, BisectionsAreTheNarrowestOfAllHalves) {
  for (int n : {6, 7, 10, 12})
    for (const CayleyGraph& graph : wirings(n, 4).graphs) {
      const Topology machine = machine_of(graph, 1, 1);
      int narrowest = 1'000;
      for (int half = 0; half < 1 << n; ++half) {
        if (__builtin_popcount(half) != n / 2) continue;
        int across = 0;
        for (const Link& link : machine.links)
          across += (half >> link.src & 1) == 1 && (half >> link.dst & 1) == 0 ? 1 : 0;
        narrowest = std::min(narrowest, across);
      }
      EXPECT_EQ(narrow_bisection(machine), narrowest) << name_of(graph);
    }
}

// Every machine by name that is such a graph is found, and a torus is called one.
TEST(Wiring, FamiliesHaveTheMachinesByName) {
  const std::vector<std::pair<std::string, int>> machines = {
      {"ring:9", 2},      {"torus:3x4", 4}, {"torus:4x4", 4},   {"hypercube:4", 4},
      {"torus:3x3x3", 6}, {"full:6", 5},    {"torus:2x3x4", 5}, {"hypercube:3", 3}};
  for (const auto& [spec, degree] : machines) {
    const Topology machine = named_topology(spec);
    int found = 0;
    for (const CayleyGraph& graph : wirings(machine.ranks, degree).graphs)
      if (canonical_links(machine_of(graph, 1, 1)) == canonical_links(machine)) ++found;
    EXPECT_GT(found, 0) << spec;
  }
  const auto group = std::make_shared<const Group>(cyclic_product({8, 8}));
  EXPECT_EQ(torus_name({.group = group, .generators = {1, 8}}), "torus 8x8");
  EXPECT_EQ(torus_name({.group = group, .generators = {1, 10}}), "torus 8x8");
  const auto cyclic = std::make_shared<const Group>(cyclic_product({16}));
  EXPECT_EQ(torus_name({.group = cyclic, .generators = {1, 4}}), "torus 4x4 twisted by 1");
  EXPECT_EQ(torus_name({.group = cyclic, .generators = {1, 3, 8}}), "");
}

// With little effort groups are sampled: fewer graphs, each of them connected and of that degree, no two
// alike in one group, and the best nearly as short as the best of all.
TEST(WiringLong, GroupsWithTooManyGraphsAreSampled) {
  const auto least = [](const WiringFamily& family) {
    return std::ranges::min(family.graphs, {}, &CayleyGraph::distances).distances;
  };
  for (const auto& [ranks, links] : {std::pair(24, 5), {36, 4}, {31, 6}, {40, 6}}) {
    const WiringFamily all = wirings(ranks, links), some = wirings(ranks, links, nullptr, {0, 2'000'000});
    ASSERT_TRUE(all.complete && !some.complete && !some.graphs.empty()) << ranks;
    std::set<std::string> names;
    for (CayleyGraph graph : some.graphs) {
      EXPECT_EQ(degree(graph), links);
      EXPECT_TRUE(names.insert(name_of(graph)).second) << name_of(graph);
      const long long distances = graph.distances;
      EXPECT_TRUE(measure(graph) && graph.distances == distances) << name_of(graph);
    }
    EXPECT_LE(least(all), least(some));
    EXPECT_LE(static_cast<double>(least(some)), 1.05 * static_cast<double>(least(all))) << ranks;
  }
  EXPECT_FALSE(wirings(96, 12, nullptr, {0, 1'000'000}).complete);
  std::atomic<bool> stop = true;
  EXPECT_FALSE(wirings(64, 4, &stop).complete);
  EXPECT_TRUE(wirings(15, 3).graphs.empty());  // no element of order two
  EXPECT_TRUE(wirings(15, 3, nullptr, {0, 100'000}).graphs.empty());
}

}  // namespace
}  // namespace chorale
