// The finders' tools against slow obvious answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bounds/clp.h"
#include "bounds/colour_refinement.h"
#include "bounds/cuts.h"
#include "bounds/demand.h"
#include "bounds/flow_lp.h"
#include "bounds/partitions.h"
#include "graph/max_flow.h"
#include "tests/bounds/machines.h"
#include "tests/kit/partitions.h"

namespace chorale {
namespace {

TEST(MaxFlow, EqualsTheSmallestOfAllCuts) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    constexpr int kNodes = 6;
    struct Arc {
      int from, to, capacity;
    };
    std::vector<Arc> arcs;
    MaxFlow flow(kNodes);
    for (int i = 0; i < 14; ++i) {
      arcs.push_back({static_cast<int>(random() % kNodes), static_cast<int>(random() % kNodes),
                      static_cast<int>(random() % 8)});
      flow.add_arc(arcs.back().from, arcs.back().to, 0);
      flow.set_capacity(i, arcs.back().capacity);
    }
    const auto capacity = [&](unsigned side) {
      int sum = 0;
      for (const Arc& a : arcs) sum += (side >> a.from & 1) && !(side >> a.to & 1) ? a.capacity : 0;
      return sum;
    };
    int least = 1000;
    for (unsigned side = 0; side < 1u << kNodes; ++side)
      if ((side & 1) && !(side >> (kNodes - 1) & 1)) least = std::min(least, capacity(side));
    EXPECT_EQ(flow.run(0, kNodes - 1), least);
    flow.find_cut();
    unsigned side = 0;
    for (int n = 0; n < kNodes; ++n) side |= flow.on_source_side(n) ? 1u << n : 0;
    EXPECT_EQ(capacity(side), least);
  }
}

// A program of equal blocks, shuffled, tied together by one row: much to merge.
TEST(ColourRefinement, KeepsTheOptimum) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int blocks = 4, columns = 3, rows = 3;
    LinearProgram program;
    std::vector<double> cost;
    std::vector<std::vector<double>> a(rows, std::vector<double>(columns));
    for (int j = 0; j < columns; ++j) cost.push_back(1 + random() % 4);
    for (auto& row : a)
      for (double& x : row) x = random() % 3;
    const int common = program.add_row(5, kNoLimit);
    for (int b = 0; b < blocks; ++b) {
      std::vector<int> row;
      for (int i = 0; i < rows; ++i) row.push_back(program.add_row(i % 2, kNoLimit));
      for (int j = 0; j < columns; ++j) {
        const int column = program.add_column(cost[j]);
        program.entries.push_back({.row = common, .column = column, .value = 1});
        for (int i = 0; i < rows; ++i)
          if (a[i][j] != 0) program.entries.push_back({.row = row[i], .column = column, .value = a[i][j]});
      }
    }
    std::shuffle(program.entries.begin(), program.entries.end(), random);
    const LpSolution whole = solve(program, 1000);
    const Colouring colouring = refine_colours(program);
    EXPECT_LE(colouring.column_colours, columns);
    const LpSolution small = solve_by_colours(program, colouring, 1000);
    ASSERT_EQ(whole.optimal, small.optimal);
    if (!whole.optimal) continue;  // a row of zeros cannot be met
    EXPECT_NEAR(whole.objective, small.objective, 1e-7);
    EXPECT_GE(whole.iterations, 1);
    EXPECT_LE(whole.iterations, 1000);
    // The spread solutions are feasible and cost the same, primal and dual.
    double primal = 0, dual = 0;
    std::vector<double> got(program.low.size(), 0), paid(program.cost.size(), 0);
    for (std::size_t j = 0; j < program.cost.size(); ++j) primal += program.cost[j] * small.values[j];
    for (std::size_t i = 0; i < program.low.size(); ++i) dual += program.low[i] * small.duals[i];
    for (const LpEntry& e : program.entries) {
      got[e.row] += e.value * small.values[e.column];
      paid[e.column] += e.value * small.duals[e.row];
    }
    EXPECT_NEAR(primal, whole.objective, 1e-7);
    EXPECT_NEAR(dual, whole.objective, 1e-7);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_GE(got[i], program.low[i] - 1e-7);
    for (std::size_t j = 0; j < paid.size(); ++j) EXPECT_LE(paid[j], program.cost[j] + 1e-7);
  }
}

// A rank of a torus is like any other, so its Alltoall has about one variable a distance.
TEST(ColourRefinement, SeesTheTorus) {
  const Topology t = grid(6, 6, true);
  std::vector<Demand> all;
  for (Rank a = 0; a < 36; ++a)
    for (Rank b = 0; b < 36; ++b)
      if (a != b) all.push_back({.from = {a}, .to = b});
  FlowProgram program(t, all, 0);
  program.build();
  EXPECT_EQ(program.size(), 36 * 144);
  const std::vector<Prices> prices = program.prices();
  ASSERT_EQ(prices.size(), 1u);
  EXPECT_EQ(prices[0].links, std::vector<int>(144, 1));
}

TEST(IntegerPrices, KeepRatiosExactly) {
  EXPECT_EQ(integer_prices({{1.0 / 3, 0.5, 0, 0.25}}, 2),
            (std::vector<Prices>{{.links = {4, 6}, .limits = {0, 3}}}));
  EXPECT_EQ(integer_prices({{0.7e-3, 1.4e-3}, {0, 2.1e-3}}, 2),
            (std::vector<Prices>{{.links = {1, 2}}, {.links = {0, 3}}}));
  EXPECT_EQ(integer_prices({{1 / 97.0, 1 / 89.0}}, 2), (std::vector<Prices>{{.links = {89, 97}}}));
  EXPECT_TRUE(integer_prices({{0, 0}}, 1).empty());
  EXPECT_TRUE(integer_prices({}, 1).empty());
}

TEST(IntegerPrices, RoundWhatIsNoFraction) {
  const std::vector<Prices> p = integer_prices({{std::sqrt(2.0), 1, -1e-17}}, 3);
  ASSERT_EQ(p.size(), 1u);
  EXPECT_NEAR(static_cast<double>(p[0].links[0]) / p[0].links[1], std::sqrt(2.0), 1e-5);
  EXPECT_EQ(p[0].links[2], 0);
}

// Vertex covers by trial of all: crossing links are covered by themselves, their out-port or their in-port.
TEST(CheapestCover, EqualsTheBestOfAll) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Topology t = full(3);
    for (Link& link : t.links) link.bandwidth = 1 + static_cast<int>(random() % 3);
    add_ports(t, 2, [&](const Link&) { return random() % 4 != 0; });
    for (SharedLimit& limit : t.limits) limit.bandwidth = 1 + static_cast<int>(random() % 3);
    if (!limits_are_ports(t)) continue;
    const std::vector<int> group = {0, 1, static_cast<int>(random() % 3)};
    const int things = static_cast<int>(t.links.size() + t.limits.size());
    const auto cost_if_cover = [&](auto&& priced) {
      int cost = 0;
      std::vector<bool> covered(t.links.size(), false);
      for (std::size_t l = 0; l < t.links.size(); ++l)
        if (priced(l)) {
          covered[l] = true;
          cost += t.links[l].bandwidth;
        }
      for (std::size_t z = 0; z < t.limits.size(); ++z)
        if (priced(t.links.size() + z)) {
          for (LinkId l : t.limits[z].links) covered[l] = true;
          cost += t.limits[z].bandwidth;
        }
      for (std::size_t l = 0; l < t.links.size(); ++l)
        if (group[t.links[l].src] != group[t.links[l].dst] && !covered[l]) return 1000;
      return cost;
    };
    int least = 1000;
    for (unsigned chosen = 0; chosen < 1u << things; ++chosen)
      least = std::min(least, cost_if_cover([&](std::size_t i) { return (chosen >> i & 1) != 0; }));
    const Prices prices = cheapest_cover(t, crossing_links(t, group));
    EXPECT_EQ(cost_if_cover([&](std::size_t i) {
                return (i < t.links.size() ? prices.links[i] : prices.limits[i - t.links.size()]) != 0;
              }),
              least);
  }
}

TEST(Ports, AreLimitsOfOneRanksLinks) {
  EXPECT_TRUE(limits_are_ports(dgx1()));
  EXPECT_TRUE(limits_are_ports(hub(5)));
  EXPECT_TRUE(limits_are_ports(dgx_a100(2)));
  Topology t = ring(4);
  t.limits.push_back({.name = "half duplex", .links = {0, 1}, .bandwidth = 1});
  EXPECT_FALSE(limits_are_ports(t));
}

// Two dense halves, joined by one link that is as fast as the others, so that no threshold tells it from
// them. Two groups are better than sixteen: 2 * 1 / 8 against 2 * 15 / (2 * 56 * 4 + 8).
TEST(Partitions, FindTheHalves) {
  Topology t = no_links(16);
  for (int a = 0; a < 16; ++a)
    for (int b = a + 1; b < 16; ++b)
      if (a / 8 == b / 8) add_both_ways(t, a, b, 4);
  add_both_ways(t, 3, 11, 4);
  const auto found = best_partition(t, make_collective("allreduce", 16, 1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bound.owed, 2);
  EXPECT_EQ(found->bound.per_round, 8);
  for (Rank n = 0; n < 16; ++n) EXPECT_EQ(found->group[n] == found->group[0], n < 8) << n;
}

TEST(Partitions, AreTheWeakestOfAll) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int ranks = 4 + static_cast<int>(random() % 4);
    // One-way links of mixed width, in clusters, along a line so that all ranks hang together.
    Topology t = line(ranks);
    for (int i = 0; i < 3 * ranks; ++i) {
      const int a = static_cast<int>(random() % ranks), b = static_cast<int>(random() % ranks);
      if (a != b && (a % 2 == b % 2 || random() % 4 == 0))
        add_link(t, a, b, 1 + static_cast<int>(random() % 5));
    }
    PriceBound best;
    test::each_partition(ranks, [&](const std::vector<int>& g, int groups) {
      PriceBound bound{.owed = 2 * (groups - 1), .per_round = 0};
      for (const Link& link : t.links) bound.per_round += g[link.src] != g[link.dst] ? link.bandwidth : 0;
      if (groups > 1 && stronger(bound, best)) best = bound;
    });
    const auto found = best_partition(t, make_collective("allreduce", ranks, 1));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bound.owed * best.per_round, best.owed * found->bound.per_round);
  }
}

}  // namespace
}  // namespace chorale
