// Trees for sums where links are wider one way and limits are shared: the referee agrees, no bound is broken, and bounds that can be told by
// hand are met but for what it takes to fill and to empty the pipeline.
#include "construct/priced_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "construct/sums_on_trees.h"
#include "semantics/verify.h"
#include "tests/construct/random_machines.h"
#include "topology/machines.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

using test::below;
using test::random_machine;

// Boxes of four ranks that reach each other in a box with two units, and all others over one NIC of one unit, out and in.
Topology boxes_with_nics(int boxes) {
  Topology t{.name = "boxes", .ranks = 4 * boxes};
  std::vector<SharedLimit> out(boxes), in(boxes);
  for (int b = 0; b < boxes; ++b) {
    out[b].name = "out of " + std::to_string(b);
    in[b].name = "into " + std::to_string(b);
  }
  for (Rank n = 0; n < t.ranks; ++n)
    for (Rank m = 0; m < t.ranks; ++m) {
      if (n == m) continue;
      const auto l = static_cast<LinkId>(t.links.size());
      const bool inside = n / 4 == m / 4;
      t.links.push_back({.src = n, .dst = m, .bandwidth = inside ? 2 : 1});
      if (inside) continue;
      out[n / 4].links.push_back(l);
      in[m / 4].links.push_back(l);
    }
  for (int b = 0; b < boxes; ++b) {
    t.limits.push_back(out[b]);
    t.limits.push_back(in[b]);
  }
  return t;
}

// By rank as many hops to the root as there are; a circle would have none.
int root_of(const std::vector<Rank>& above) {
  int root = -1;
  for (Rank n = 0; n < std::ssize(above); ++n) {
    Rank at = n;
    for (std::size_t hops = 0; above[at] >= 0 && hops <= above.size(); ++hops) at = above[at];
    if (above[at] >= 0 || (root >= 0 && at != root)) return -1;
    root = at;
  }
  return root;
}

TEST(PricedTrees, OnRandomMachines) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random);
    const int chunks = 1 + below(random, 12);
    const Collective c = make_collective("allreduce", t.ranks, chunks);
    const int bound = fewest_rounds(t, c).rounds;
    const PricedTrees priced = priced_trees(t, chunks, bound);
    ASSERT_EQ(std::ssize(priced.trees), chunks);
    EXPECT_GE(priced.rounds, bound);
    for (const SumTree& tree : priced.trees) {
      EXPECT_GE(root_of(tree.up), 0);
      EXPECT_EQ(root_of(tree.up), root_of(tree.down));
    }
    const std::vector<Schedule> schedules = sum_on_priced_trees(t, c, [&] { return bound; });
    ASSERT_FALSE(schedules.empty());
    for (const Schedule& schedule : schedules) {
      EXPECT_THAT(violations(t, c, schedule), IsEmpty());
      EXPECT_GE(total_rounds(schedule), bound);
    }
    if (HasFailure()) return;
  }
}

// Of k boxes each chunk crosses k - 1 times up and as often down, over k NICs out: 1 round a chunk for two boxes, 3/2 for four, where the
// boxes in the middle must take turns.
TEST(PricedTrees, NicsAreFull) {
  EXPECT_EQ(priced_trees(boxes_with_nics(2), 8, 8).rounds, 8);
  EXPECT_EQ(priced_trees(boxes_with_nics(4), 8, 12).rounds, 12);
  const Topology t = boxes_with_nics(2);
  const Collective c = make_collective("allreduce", t.ranks, 256);
  ASSERT_EQ(fewest_rounds(t, c).rounds, 256);
  const std::vector<Point> points = grown_incumbents(t, c);
  ASSERT_FALSE(points.empty());
  EXPECT_LE(points.back().cost.rounds, 256 + 8);
}

// Of a ring of 8 one way of one link has failed: what the rank before it knows gets out over one unit, so a chunk takes a round.
TEST(PricedTrees, OneWayFailed) {
  Topology t = load_topology("ring:8");
  std::erase_if(t.links, [](const Link& link) { return link.src == 0 && link.dst == 1; });
  EXPECT_FALSE(is_undirected(t));
  const Collective c = make_collective("allreduce", 8, 128);
  ASSERT_EQ(fewest_rounds(t, c).rounds, 128);
  const std::vector<Schedule> schedules = sum_on_priced_trees(t, c, [] { return 128; });
  ASSERT_FALSE(schedules.empty());
  EXPECT_LE(total_rounds(schedules.back()), 128 + 16);
}

TEST(PricedTrees, NoneOfWhatTheyAreNotFor) {
  const Topology one_way{.name = "one way", .ranks = 2, .links = {{.src = 0, .dst = 1}}};
  EXPECT_THAT(sum_on_priced_trees(one_way, make_collective("allreduce", 2, 1), [] { return 1; }), IsEmpty());
  EXPECT_THAT(sum_on_priced_trees(load_topology("ring:4"), make_collective("reduce", 4, 1), [] { return 1; }),
              IsEmpty());
}

// More chunks than trees are packed for: the trees take turns, and the rounds beyond the bound stay as they are.
TEST(PricedTrees, LongPipelinesOnAMesh) {
  const Topology t = load_topology("mesh:4x4");
  const Collective c = make_collective("allreduce", 16, 1024);
  const std::vector<Schedule> schedules = sum_on_trees(t, c);
  ASSERT_FALSE(schedules.empty());
  EXPECT_LE(total_rounds(schedules.back()), 640 + 8);
  EXPECT_THAT(violations(t, c, schedules.back()), IsEmpty());
}

}  // namespace
}  // namespace chorale
