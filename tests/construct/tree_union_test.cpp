// Trees for sums: as many side by side as any partition of the ranks allows, and schedules that are near it.
#include "construct/exact/tree_union.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "ir/disjoint_sets.h"
#include "semantics/verify.h"
#include "tests/kit/partitions.h"
#include "tests/kit/random.h"
#include "topology/machines.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

constexpr test::Machines kMachines{
    .joined = test::Machines::Joined::Tree, .both_ways = true, .most_limits = 0};

// Slow and obvious: of every partition into k groups, k - 1 crossings a chunk over what is between the
// groups.
int rounds_by_all_partitions(const Topology& t, int chunks) {
  int most = 0;
  test::each_partition(t.ranks, [&](const std::vector<int>& group, int groups) {
    int between = 0;  // in both directions
    for (const Link& link : t.links)
      if (group[link.src] != group[link.dst]) between += link.bandwidth;
    if (groups > 1) most = std::max(most, (2 * chunks * (groups - 1) + between - 1) / between);
  });
  return most;
}

TEST(TreeUnion, AsManyAsAnyPartitionAllows) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = test::random_machine(random, kMachines);
    const int chunks = 1 + test::below(random, 7);
    const std::optional<SumTrees> packed = sum_trees(t, chunks);
    ASSERT_TRUE(packed.has_value());
    EXPECT_EQ(packed->rounds, rounds_by_all_partitions(t, chunks));
    ASSERT_EQ(static_cast<int>(packed->trees.size()), chunks);
    std::vector<int> load(packed->edges.size(), 0);
    for (const std::vector<int>& tree : packed->trees) {
      DisjointSets joined(t.ranks);
      for (int e : tree) {
        ++load[e];
        joined.join(packed->edges[e].a, packed->edges[e].b);
      }
      EXPECT_EQ(static_cast<int>(tree.size()), t.ranks - 1);
      EXPECT_EQ(joined.representatives(), std::vector<int>(t.ranks, 0));
    }
    for (std::size_t e = 0; e < load.size(); ++e) EXPECT_LE(load[e], packed->edges[e].copies);
    if (HasFailure()) return;
  }
}

// Numbers of trees per round: mesh:4x4 8/5 (four corners with two links, twelve others; 24 edges for 15 of a
// tree), torus:4x4 32/15, dgx1 24/7 (24 units of edges, 7 of a tree).
TEST(TreeUnion, NamedMachines) {
  EXPECT_EQ(sum_trees(load_topology("mesh:4x4"), 8)->rounds, 5);
  EXPECT_EQ(sum_trees(load_topology("torus:4x4"), 32)->rounds, 15);
  EXPECT_EQ(sum_trees(load_topology("dgx1"), 24)->rounds, 7);
  EXPECT_EQ(sum_trees(load_topology("line:8"), 3)->rounds, 3);
  EXPECT_EQ(sum_trees(load_topology("mesh:8x8"), 16)->rounds, 9);
}

// Each tree spans all ranks once up and once down, and together they need the rounds that they were packed
// for, parallel links included.
TEST(TreeUnion, PackingLoadsNoLinkBeyondItsRounds) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = test::random_machine(random, kMachines);
    const int chunks = 1 + test::below(random, 7);
    const std::optional<ChunkPacking> packing = tree_union(t, chunks);
    ASSERT_TRUE(packing.has_value());
    EXPECT_EQ(chunks % packing->chunks, 0);
    EXPECT_EQ(needed_rounds(Network(t), *packing) * (chunks / packing->chunks), sum_trees(t, chunks)->rounds);
    for (const ChunkTree& tree : packing->trees.front()) {
      EXPECT_EQ(tree.ups, t.ranks - 1);
      EXPECT_EQ(std::ssize(tree.links), 2 * (t.ranks - 1));
    }
  }
}

TEST(TreeUnion, NoneOfWhatTheyAreNotFor) {
  EXPECT_FALSE(sum_trees(load_topology("hub:4"), 1).has_value());
  Topology one_way{.name = "one way", .ranks = 2, .links = {{.src = 0, .dst = 1}}};
  EXPECT_FALSE(sum_trees(one_way, 1).has_value());
  EXPECT_FALSE(sum_trees({.name = "apart", .ranks = 2}, 1).has_value());
}

}  // namespace
}  // namespace chorale
