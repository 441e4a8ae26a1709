// Trees exist exactly where every cut allows as many (Edmonds 1973): so where max-flows from the root allow
// it to each rank they must be found, and where one does not, none can be.
#include "construct/exact/disjoint_trees.h"

#include <gtest/gtest.h>

#include <numeric>

#include "construct/engine/jobs.h"
#include "construct/engine/solved_question.h"
#include "graph/max_flow.h"
#include "ir/collective.h"
#include "tests/kit/random.h"
#include "topology/builders.h"

namespace chorale {
namespace {

std::optional<ChunkPacking> trees_of(const Topology& t, const Collective& one, int chunks, long long rounds) {
  const Network network(t);
  WorkBudget effort(1'000'000'000, nullptr);
  return disjoint_trees(network, moving_classes(one), chunks, rounds, effort);
}

// Chunks that can flow from the root to the worst rank in a round.
long long weakest(const Topology& t, Rank root) {
  long long least = 1'000'000;
  for (Rank n = 0; n < t.ranks; ++n) {
    if (n == root) continue;
    MaxFlow flow(t.ranks);
    for (const Link& link : t.links) flow.add_arc(link.src, link.dst, link.bandwidth);
    least = std::min<long long>(least, flow.run(root, n));
  }
  return least;
}

void expect_sound(const Topology& t, const Collective& one, const ChunkPacking& packing, long long rounds) {
  std::vector<long long> load(t.links.size(), 0);
  const std::vector<ChunkClass> classes = moving_classes(one);
  ASSERT_EQ(packing.trees.size(), classes.size());
  for (std::size_t k = 0; k < classes.size(); ++k) {
    ASSERT_EQ(std::ssize(packing.trees[k]), classes[k].count() * packing.chunks);
    for (const ChunkTree& tree : packing.trees[k]) {
      std::vector<bool> has(t.ranks, false);
      for (const Rank n : classes[k].pre) has[n] = true;
      for (const LinkId l : tree.links) {
        EXPECT_TRUE(has[t.links[l].src]) << "link " << l << " comes before the one into its source";
        EXPECT_FALSE(has[t.links[l].dst]);
        has[t.links[l].dst] = true;
        ++load[l];
      }
      EXPECT_EQ(std::count(has.begin(), has.end(), false), 0);
    }
  }
  for (std::size_t l = 0; l < load.size(); ++l) EXPECT_LE(load[l], rounds * t.links[l].bandwidth);
}

TEST(DisjointTrees, AsManyAsEveryCutAllowsAndNoMore) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t =
        test::random_machine(random, {.most_ranks = 10, .most_limits = 0});  // no shared limits
    const Rank root = test::below(random, t.ranks);
    const Collective one = make_collective("broadcast", t.ranks, 1, root);
    const int rounds = 1 + test::below(random, 3);
    const int most = static_cast<int>(rounds * weakest(t, root));
    const std::optional<ChunkPacking> packing = trees_of(t, one, most, rounds);
    ASSERT_TRUE(packing.has_value());
    expect_sound(t, one, *packing, rounds);
    EXPECT_FALSE(trees_of(t, one, most + 1, rounds).has_value());
  }
}

// As many trees as a hypercube has dimensions can be one higher than the dimensions (Johnsson and Ho 1989).
TEST(DisjointTrees, AreLow) {
  for (const int dimensions : {3, 4, 5, 6}) {
    SCOPED_TRACE(dimensions);
    const Topology t = named_topology("hypercube:" + std::to_string(dimensions));
    const auto packing = trees_of(t, make_collective("broadcast", t.ranks, 1), dimensions, 1);
    ASSERT_TRUE(packing);
    int highest = 0;
    for (const ChunkTree& tree : packing->trees[0]) {
      std::vector<int> depth(t.ranks, 0);
      for (const LinkId l : tree.links) {
        depth[t.links[l].dst] = depth[t.links[l].src] + 1;
        highest = std::max(highest, depth[t.links[l].dst]);
      }
    }
    EXPECT_LE(highest, dimensions + 3);
  }
}

// All roots at once: n trees over links that n - 1 of them fill. A ring in both directions has two links into
// each rank.
TEST(DisjointTrees, SeveralRoots) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    Topology t{.name = "ring", .ranks = ranks};
    for (Rank n = 0; n < ranks; ++n) {
      t.links.push_back({.src = n, .dst = (n + 1) % ranks});
      t.links.push_back({.src = (n + 1) % ranks, .dst = n});
    }
    const Collective one = make_collective("allgather", ranks, 1);
    const std::optional<ChunkPacking> packing = trees_of(t, one, 2, ranks - 1);
    ASSERT_TRUE(packing.has_value()) << ranks;
    expect_sound(t, one, *packing, ranks - 1);
    EXPECT_FALSE(ranks > 2 && trees_of(t, one, 2, ranks - 2).has_value()) << ranks;
  }
}

TEST(DisjointTrees, NoneOfWhatTheyAreNotFor) {
  Topology t{.name = "pair", .ranks = 3};
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 0)})
    t.links.push_back({.src = a, .dst = b});
  EXPECT_TRUE(trees_of(t, make_collective("broadcast", 3, 1), 1, 1).has_value());
  EXPECT_FALSE(trees_of(t, make_collective("scatter", 3, 1), 1, 9).has_value());
  t.limits.push_back({.name = "limit", .links = {0, 1}, .bandwidth = 1});
  EXPECT_FALSE(trees_of(t, make_collective("broadcast", 3, 1), 1, 1).has_value());
}

TEST(DisjointTrees, EndWithTheWork) {
  std::mt19937 random(1);
  const Topology t = test::random_four_regular(random, 64);
  const Network network(t);
  const std::vector<ChunkClass> classes = moving_classes(make_collective("broadcast", 64, 1));
  WorkBudget little(1000, nullptr);
  EXPECT_FALSE(disjoint_trees(network, classes, 4, 1, little).has_value());
}

}  // namespace
}  // namespace chorale
