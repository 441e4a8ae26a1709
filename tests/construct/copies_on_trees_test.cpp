// Copies on trees: the referee agrees, no bound is broken, and where a cut can be told by hand its rounds are met within 1 % in few steps.
#include "construct/copies_on_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bounds/lower_bounds.h"
#include "semantics/verify.h"
#include "tests/construct/random_machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

using test::below;
using test::random_machine;

// Boxes of four ranks, two units between any two of a box, one NIC of one unit a box to all others.
Topology boxes_on_nics(int boxes) {
  Topology t{.name = "boxes", .ranks = 4 * boxes};
  std::vector<SharedLimit> out(boxes), in(boxes);
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
    out[b].name = "out of " + std::to_string(b);
    in[b].name = "into " + std::to_string(b);
    t.limits.push_back(out[b]);
    t.limits.push_back(in[b]);
  }
  return t;
}

TEST(CopiesOnTrees, OnRandomMachines) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random);
    const Collective c =
        make_collective(below(random, 3) > 0 ? "allgather" : "broadcast", t.ranks, 1 + below(random, 12));
    const int bound = fewest_rounds(t, c).rounds;
    const std::vector<Schedule> schedules = copies_on_trees(t, c, {}, [&] { return bound; });
    ASSERT_FALSE(schedules.empty());
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      EXPECT_THAT(violations(t, c, schedules[i]), IsEmpty());
      EXPECT_GE(total_rounds(schedules[i]), bound);
      if (i == 0) continue;
      EXPECT_LT(total_rounds(schedules[i]), total_rounds(schedules[i - 1]));
      EXPECT_GT(schedules[i].steps.size(), schedules[i - 1].steps.size());
    }
    // The same question has the same answer.
    EXPECT_EQ(copies_on_trees(t, c, {}, [&] { return bound; }), schedules);
    if (HasFailure()) return;
  }
}

// A NIC takes in what all other boxes have, four chunks each: 4 (k - 1) rounds a chunk of a rank.
TEST(CopiesOnTrees, NicsAreFullInFewSteps) {
  for (int boxes : {2, 3, 5}) {
    const Topology t = boxes_on_nics(boxes);
    const Collective c = make_collective("allgather", t.ranks, 50);
    const int cut = 4 * (boxes - 1) * 50;
    EXPECT_EQ(copy_trees(t, c, cut).rounds * copy_trees(t, c, cut).takers, cut);
    const std::vector<Schedule> schedules = copies_on_trees(t, c, {}, [&] { return cut; });
    ASSERT_FALSE(schedules.empty());
    const auto near = std::ranges::find_if(
        schedules, [&](const Schedule& s) { return total_rounds(s) <= cut + cut / 100; });
    ASSERT_NE(near, schedules.end());
    EXPECT_LE(near->steps.size(), 20u);
  }
}

// Chunks that are due one after the other do not starve each other: what a Broadcast over two boxes of 16 takes beyond the bound
// is to fill and empty its trees, and with the longest way first it was 51 rounds.
TEST(CopiesOnTrees, ChunksDoNotStarveEachOther) {
  const Topology t = flatten(load_topology("dgx2:2"));
  const Collective c = make_collective("broadcast", t.ranks, 240);
  const std::vector<Schedule> schedules = copies_on_trees(t, c, {}, [] { return 30; });
  ASSERT_FALSE(schedules.empty());
  EXPECT_LE(total_rounds(schedules.back()), 40);
}

TEST(CopiesOnTrees, NothingWhereThereIsNothing) {
  const Topology ring = load_topology("ring:6");
  const auto bound = [] { return 1; };
  EXPECT_THAT(copies_on_trees(ring, make_collective("alltoall", 6, 1), {}, bound), IsEmpty());
  EXPECT_THAT(copies_on_trees(ring, make_collective("allreduce", 6, 1), {}, bound), IsEmpty());
  Topology apart = ring;
  std::erase_if(apart.links, [](const Link& link) { return link.dst == 3; });
  EXPECT_THAT(copies_on_trees(apart, make_collective("allgather", 6, 1), {}, bound), IsEmpty());
  const std::atomic<bool> stop = true;
  EXPECT_THAT(copies_on_trees(ring, make_collective("allgather", 6, 1), {}, bound, &stop), IsEmpty());
  // Asked only for what is better than what is known.
  const std::vector<Schedule> known = {{.steps = {{.rounds = 1}}}};
  EXPECT_THAT(copies_on_trees(ring, make_collective("allgather", 6, 1), known, bound), IsEmpty());
}

}  // namespace
}  // namespace chorale
