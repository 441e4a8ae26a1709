// Trees for sums: as many side by side as any partition of the ranks allows, or nearly.
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

// Of all chunks, on trees that stand for several.
long long rounds_of(const Topology& t, int chunks) {
  const std::optional<ChunkPacking> packing = tree_union(t, chunks);
  EXPECT_TRUE(packing.has_value());
  EXPECT_EQ(chunks % packing->chunks, 0);
  return needed_rounds(Network(t), *packing) * (chunks / packing->chunks);
}

// Each tree spans all ranks once up and once down; no partition allows fewer rounds than they need, parallel
// links included, and mostly none asks for more.
TEST(TreeUnion, MostlyAsManyAsAnyPartitionAllows) {
  int least = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = test::random_machine(random, kMachines);
    const int chunks = 1 + test::below(random, 7);
    const std::optional<ChunkPacking> packing = tree_union(t, chunks);
    ASSERT_TRUE(packing.has_value());
    for (const ChunkTree& tree : packing->trees.front()) {
      EXPECT_EQ(tree.ups, t.ranks - 1);
      EXPECT_EQ(std::ssize(tree.links), 2 * (t.ranks - 1));
      DisjointSets joined(t.ranks);
      for (const LinkId l : tree.links) joined.join(t.links[l].src, t.links[l].dst);
      EXPECT_EQ(joined.representatives(), std::vector<int>(t.ranks, 0));
    }
    const int bound = rounds_by_all_partitions(t, chunks);
    EXPECT_GE(rounds_of(t, chunks), bound);
    least += rounds_of(t, chunks) == bound;
    if (HasFailure()) return;
  }
  EXPECT_GE(least, 290);
}

// Numbers of trees per round: mesh:4x4 8/5 (four corners with two links, twelve others; 24 edges for 15 of a
// tree), torus:4x4 32/15, dgx1 24/7 (24 units of edges, 7 of a tree).
TEST(TreeUnion, NamedMachines) {
  EXPECT_EQ(rounds_of(load_topology("mesh:4x4"), 8), 5);
  EXPECT_EQ(rounds_of(load_topology("torus:4x4"), 32), 15);
  EXPECT_EQ(rounds_of(load_topology("dgx1"), 24), 7);
  EXPECT_EQ(rounds_of(load_topology("line:8"), 3), 3);
  EXPECT_EQ(rounds_of(load_topology("mesh:8x8"), 16), 9);
  EXPECT_EQ(rounds_of(load_topology("mesh:16x16"), 32), 17);
}

TEST(TreeUnion, NoneOfWhatTheyAreNotFor) {
  EXPECT_FALSE(tree_union(load_topology("hub:4"), 1).has_value());
  Topology one_way{.name = "one way", .ranks = 2, .links = {{.src = 0, .dst = 1}}};
  EXPECT_FALSE(tree_union(one_way, 1).has_value());
  EXPECT_FALSE(tree_union({.name = "apart", .ranks = 2}, 1).has_value());
}

}  // namespace
}  // namespace chorale
