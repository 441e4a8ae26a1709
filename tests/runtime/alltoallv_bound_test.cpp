// The bound of an Alltoallv against the optimum of a linear program over all routings: bytes flow from each
// rank on any paths, over the fabric of a node and over any NICs, also inside a node and by other nodes. The
// program shares the machine's layout with the bound, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <random>

#include "bounds/clp.h"
#include "runtime/alltoallv/plan.h"
#include "runtime/alltoallv/price.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

using test::below;
using test::between;

struct Edge {
  int src = 0, dst = 0;
  double gbs = 0;  // 0: no limit
};

// Ranks, then a fabric a node, both sides of each NIC, and the network that joins all NICs.
std::vector<Edge> edges_of(const NodeLayout& layout, const TierRates& rates) {
  const int fabric = layout.ranks(), out = fabric + layout.nodes(), in = out + layout.nics,
            network = in + layout.nics;
  std::vector<Edge> edges;
  for (Rank r = 0; r < layout.ranks(); ++r) {
    edges.push_back({r, fabric + layout.node[r], rates.node_gbs});
    edges.push_back({fabric + layout.node[r], r, rates.node_gbs});
    edges.push_back({r, out + layout.nic[r]});
    edges.push_back({in + layout.nic[r], r});
  }
  for (int k = 0; k < layout.nics; ++k) {
    edges.push_back({out + k, network, rates.nic_gbs});
    edges.push_back({network, in + k, rates.nic_gbs});
  }
  return edges;
}

// Microseconds without latency: the least time in which every edge can carry what all sources send over it.
double least_us(const TwoTiers& tiers, const ByteCounts& counts) {
  const NodeLayout layout(tiers);
  const std::vector<Edge> edges = edges_of(layout, tiers.rates);
  const int count = static_cast<int>(edges.size()), ranks = counts.ranks,
            vertices = ranks + layout.nodes() + 2 * layout.nics + 1;
  LinearProgram program;
  for (int i = 0; i < ranks * count; ++i) program.add_column(0);  // of a source, over an edge
  const int time = program.add_column(1);
  for (Rank source = 0; source < ranks; ++source)
    for (int v = 0; v < vertices; ++v) {
      if (v == source) continue;
      const double bytes = v < ranks ? static_cast<double>(counts.at(source, v)) : 0;
      const int row = program.add_row(bytes, bytes);
      for (int e = 0; e < count; ++e) {
        if (edges[e].dst == v) program.entries.push_back({row, source * count + e, 1});
        if (edges[e].src == v) program.entries.push_back({row, source * count + e, -1});
      }
    }
  for (int e = 0; e < count; ++e) {
    if (edges[e].gbs == 0) continue;
    const int row = program.add_row(0, kNoLimit);
    program.entries.push_back({row, time, edges[e].gbs});
    for (Rank source = 0; source < ranks; ++source) program.entries.push_back({row, source * count + e, -1});
  }
  const LpSolution solved = solve(program, 1'000'000);
  EXPECT_TRUE(solved.optimal);
  return 1e-3 * solved.objective;
}

// Uneven nodes whose ranks are numbered as it comes, a node alone, NICs as fast as the fabric or faster,
// ranks without bytes, one block much larger than all others.
TwoTiers tiers_of_few(std::mt19937& random) {
  TwoTiers tiers;
  const int ranks = between(random, 2, 7), nodes = between(random, 1, 4);
  std::map<int, int> numbers;
  for (int n = 0; n < ranks; ++n)
    tiers.node.push_back(
        numbers.emplace(below(random, nodes), static_cast<int>(numbers.size())).first->second);
  constexpr double kNic[] = {50, 50, 100, 450}, kNode[] = {450, 450, 100, 50, 20};
  tiers.rates = {.nics = std::max(0, between(random, -2, 2)),
                 .nic_gbs = kNic[below(random, 4)],
                 .node_gbs = kNode[below(random, 5)],
                 .latency_us = below(random, 2) * 5.0};
  return tiers;
}

ByteCounts counts_of_few(std::mt19937& random, int ranks) {
  ByteCounts counts{.ranks = ranks};
  const int empty = below(random, 4), silent = below(random, 2 * ranks);
  for (Rank src = 0; src < ranks; ++src)
    for (Rank dst = 0; dst < ranks; ++dst)
      counts.bytes.push_back(
          below(random, 4) < empty || src == silent || dst == silent ? 0 : below(random, 10'000));
  if (below(random, 3) == 0) counts.bytes[below(random, ranks * ranks)] = 50'000;
  return counts;
}

TEST(AlltoallvBound, NoRoutingIsFaster) {
  int questions = 0, exact = 0;
  double least = 1, sum = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const TwoTiers tiers = tiers_of_few(random);
    const ByteCounts counts = counts_of_few(random, static_cast<int>(tiers.node.size()));
    const double bound = alltoallv_bound_us(NodeLayout(tiers), tiers.rates, counts),
                 optimum = least_us(tiers, counts);
    EXPECT_EQ(bound > 0, optimum > 0);
    if (optimum == 0) continue;
    // Latency is of the last byte.
    EXPECT_LE(bound, (tiers.rates.latency_us + optimum) * (1 + 1e-6));
    EXPECT_GE(plan_alltoallv(tiers, counts).us, bound * (1 - 1e-9));
    const double share = (bound - tiers.rates.latency_us) / optimum;
    ++questions;
    exact += share > 1 - 1e-6 ? 1 : 0;
    least = std::min(least, share);
    sum += share;
  }
  std::cout << "the bound is the optimum in " << exact << " of " << questions << " questions, "
            << sum / questions << " of it in the mean and " << least << " at least\n";
  EXPECT_GE(exact, questions * 9 / 10);
  EXPECT_GE(least, 0.7);
}

// Rank 0 has 1 GB for rank 1 of its node: 0.9 GB over the fabric and 0.1 GB over NICs that are idle take
// 2 ms, and 2.22 ms over the fabric alone is no bound. Where the NICs are
// busy, fabric and NICs together carry what has to take one of them.
TEST(AlltoallvBound, BytesInsideANodeMayLeaveIt) {
  const TwoTiers tiers{.node = {0, 0, 1, 1}, .rates = {.latency_us = 0}};
  ByteCounts counts{.ranks = 4, .bytes = std::vector<std::int64_t>(16)};
  counts.bytes[1] = 1'000'000'000;
  EXPECT_DOUBLE_EQ(plan_alltoallv(tiers, counts).bound_us, 2000);
  EXPECT_NEAR(least_us(tiers, counts), 2000, 1e-6);
  counts.bytes[7] = 200'000'000;  // from rank 1, over both NICs
  EXPECT_DOUBLE_EQ(plan_alltoallv(tiers, counts).bound_us, 1'200'000 / 550.0);
  EXPECT_NEAR(least_us(tiers, counts), 1'200'000 / 550.0, 1e-6);
}

// The last byte arrives one latency after it was sent, so of small messages little but that is left.
TEST(AlltoallvBound, HasOneLatencyWhereBytesMove) {
  const TwoTiers tiers{.node = {0, 0, 1, 1}};
  ByteCounts counts{.ranks = 4, .bytes = std::vector<std::int64_t>(16)};
  counts.bytes[0] = 5;  // for itself
  EXPECT_EQ(plan_alltoallv(tiers, counts).bound_us, 0);
  counts.bytes[2] = 64;
  EXPECT_NEAR(plan_alltoallv(tiers, counts).bound_us, 5, 1e-2);
  EXPECT_NEAR(plan_alltoallv(tiers, counts).us, 5, 1e-2);
}

}  // namespace
}  // namespace chorale
