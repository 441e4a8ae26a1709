// Trees side by side, compared with all partitions of small networks, some of whose edges are wider than
// trees are many.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "construct/exact/tree_union.h"
#include "ir/disjoint_sets.h"
#include "tests/kit/partitions.h"
#include "tests/kit/random.h"
#include "topology/machines.h"

namespace chorale {
namespace {

using test::below;

std::vector<Edge> random_network(std::mt19937& random, int ranks) {
  std::vector<Edge> edges;
  for (Rank n = 1; n < ranks; ++n)
    edges.push_back({.a = n, .b = below(random, n), .copies = 1 + below(random, 9)});
  for (int more = below(random, 2 * ranks); more > 0; --more)
    if (const Rank a = below(random, ranks), b = below(random, ranks); a != b)
      edges.push_back({.a = a, .b = b, .copies = 1 + below(random, 4)});
  return edges;
}

int copies_between(const std::vector<Edge>& edges, const std::vector<int>& group) {
  int copies = 0;
  for (const Edge& edge : edges)
    if (group[edge.a] != group[edge.b]) copies += edge.copies;
  return copies;
}

// Uses of each edge by trees, which span all ranks.
std::vector<int> uses(int ranks, const std::vector<Edge>& edges, const std::vector<std::vector<int>>& trees) {
  std::vector<int> used(edges.size(), 0);
  for (const std::vector<int>& tree : trees) {
    DisjointSets joined(ranks);
    for (int e : tree) {
      ++used[e];
      joined.join(edges[e].a, edges[e].b);
    }
    EXPECT_EQ(std::ssize(tree), ranks - 1);
    EXPECT_EQ(joined.representatives(), std::vector<int>(ranks, 0));
  }
  return used;
}

// Of as many chunks as all bandwidths have common multiples for, the rounds are what the weakest partition
// asks for, and trees are as few as it has crossings in lowest terms.
TEST(SpanningTrees, MeetTheWeakestPartitionWithFewDifferentOnes) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int ranks = 2 + below(random, 5);
    Topology t{.ranks = ranks};
    const std::vector<Edge> edges = random_network(random, ranks);
    for (const Edge& edge : edges)
      for (const auto& [src, dst] : {std::pair(edge.a, edge.b), {edge.b, edge.a}})
        t.links.push_back({.src = src, .dst = dst, .bandwidth = edge.copies});
    int crossings = 0, between = 1;
    test::each_partition(ranks, [&](const std::vector<int>& group, int groups) {
      const int k = groups - 1, copies = copies_between(edges, group);
      if (k * between > crossings * copies) {
        crossings = k;
        between = copies;
      }
    });
    const std::optional<SumTrees> packed = sum_trees(t, 7 * between);
    ASSERT_TRUE(packed.has_value());
    EXPECT_EQ(packed->rounds, 7 * crossings);
    EXPECT_LE(packed->different, between);
  }
}

// Trees span, load the fullest edge as is reported, and never less than any partition asks for; mostly as
// little.
TEST(SpreadTrees, AreNearTheWeakestPartition) {
  int as_few = 0, one_more = 0;
  constexpr unsigned kNetworks = 200;
  for (unsigned seed = 0; seed < kNetworks; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int ranks = 2 + below(random, 5), trees = 1 + below(random, 40);
    const std::vector<Edge> edges = random_network(random, ranks);
    int least = 0;
    test::each_partition(ranks, [&](const std::vector<int>& group, int groups) {
      const int copies = copies_between(edges, group);
      if (copies > 0) least = std::max(least, (trees * (groups - 1) + copies - 1) / copies);
    });
    const SpreadTrees spread = spread_spanning_trees(ranks, edges, trees);
    ASSERT_EQ(std::ssize(spread.trees), trees);
    const std::vector<int> used = uses(ranks, edges, spread.trees);
    int rounds = 0;
    for (std::size_t e = 0; e < edges.size(); ++e)
      rounds = std::max(rounds, (used[e] + edges[e].copies - 1) / edges[e].copies);
    EXPECT_EQ(rounds, spread.rounds);
    EXPECT_GE(rounds, least);
    as_few += rounds == least;
    one_more += rounds == least + 1;
  }
  EXPECT_GE(as_few, static_cast<int>(kNetworks) * 8 / 10);
  EXPECT_GE(as_few + one_more, static_cast<int>(kNetworks) * 95 / 100);
}

// The farthest rank of a tree from its middle.
int height_of(int ranks, const std::vector<Edge>& edges, const std::vector<int>& tree) {
  std::vector<std::vector<Rank>> next(ranks);
  for (const int e : tree) {
    next[edges[e].a].push_back(edges[e].b);
    next[edges[e].b].push_back(edges[e].a);
  }
  const auto farthest = [&](Rank from) {
    std::vector<int> depth(ranks, -1);
    std::vector<Rank> queue = {from};
    depth[from] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const Rank n : next[queue[i]])
        if (depth[n] < 0) {
          depth[n] = depth[queue[i]] + 1;
          queue.push_back(n);
        }
    return std::pair(queue.back(), depth[queue.back()]);
  };
  return (farthest(farthest(0).first).second + 1) / 2;
}

// A corner is 62 links from its opposite, 32 from the middle: 32 trees take 17 rounds, which no 32 can do
// with less.
TEST(SpreadTrees, OfALargeMesh) {
  const std::optional<SumTrees> packed = sum_trees(load_topology("mesh:32x32"), 64);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->rounds, 34);
  EXPECT_EQ(packed->different, 32);
  for (const std::vector<int>& tree : packed->trees) EXPECT_LE(height_of(1024, packed->edges, tree), 48);
}

}  // namespace
}  // namespace chorale
