// Growth on machines whose tightest cut is known by hand; makers_test.cpp has random ones.
#include "construct/tree_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "construct/incumbents.h"
#include "tests/semantics/machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

struct Known {
  std::string machine = {};
  std::string collective = {};
  int chunks = 1;
  int steps = 0;   // of the point with the fewest rounds
  int rounds = 0;  // the bound
};

// Rounds are what a rank lacks over what comes in (63 chunks over 2 links in a corner of mesh:8x8), or for a
// node of an A100 what the node lacks over its 8 NICs, and one more where the last round can bring nothing
// new to a whole node.
TEST(TreeGrowth, NamedMachines) {
  const std::vector<Known> known = {
      {"ring:8", "allgather", 2, 4, 7},      {"ring:8", "reducescatter", 2, 4, 7},
      {"torus:4x4", "allgather", 4, 4, 15},  {"hypercube:4", "allgather", 4, 4, 15},
      {"mesh:4x4", "allgather", 2, 6, 15},   {"mesh:4x4", "reducescatter", 2, 6, 15},
      {"mesh:8x8", "allgather", 2, 14, 63},  {"dgx1", "allgather", 6, 3, 7},
      {"dgx2", "allgather", 1, 1, 15},       {"dgx-a100:2", "allgather", 13, 4, 15},
      {"dgx-a100:4", "allgather", 8, 6, 25}, {"line:8", "allgather", 1, 7, 7},
      {"torus:8x8", "allgather", 4, 8, 63},  {"hypercube:6", "allgather", 6, 6, 63},
      {"dgx1", "reducescatter", 6, 3, 7},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(k.machine + " " + k.collective);
    const Topology t = load_topology(k.machine);
    const std::vector<Point> points = grown_incumbents(t, make_collective(k.collective, t.ranks, k.chunks));
    ASSERT_FALSE(points.empty());
    EXPECT_EQ(points.back().cost.rounds, k.rounds);
    EXPECT_LE(points.back().cost.steps, k.steps);
  }
}

// Hosts below leaf switches, one unit each, and a trunk of two units from each leaf to the others: a host
// lacks 15 chunks and takes one in a round. With a trunk of one unit, a leaf lacks 12 and takes one; of eight
// leaves of two, each lacks 14.
Topology fat_tree(int leaves, int hosts, int trunk) {
  Topology t{.name = "fat tree", .ranks = leaves * hosts, .switches = leaves + 1};
  const auto both = [&](Node a, Node b, int bandwidth) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
    t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
  };
  for (Rank n = 0; n < t.ranks; ++n) both(n, t.ranks + n / hosts, 1);
  for (int leaf = 0; leaf < leaves; ++leaf) both(t.ranks + leaf, t.ranks + leaves, trunk);
  return flatten(t);
}

TEST(TreeGrowth, TrunksBetweenSwitches) {
  for (const auto& [leaves, hosts, trunk] :
       {std::array{4, 4, 2}, std::array{8, 2, 1}, std::array{4, 4, 1}, std::array{2, 3, 1}}) {
    SCOPED_TRACE(leaves * 100 + hosts * 10 + trunk);
    const Topology t = fat_tree(leaves, hosts, trunk);
    const int host = t.ranks - 1, leaf = (t.ranks - hosts + trunk - 1) / trunk;
    const std::vector<Point> points = grown_incumbents(t, make_collective("allgather", t.ranks, 1));
    ASSERT_FALSE(points.empty());
    EXPECT_GE(points.back().cost.rounds, std::max(host, leaf));
    EXPECT_LE(points.back().cost.rounds, std::max(host, leaf + 1));
    EXPECT_LE(points.back().cost.steps, 8);
  }
}

// Several ranks may start with a chunk; the root of a Broadcast sends over all its links.
TEST(TreeGrowth, Broadcasts) {
  const Topology t = load_topology("dgx1");  // six units leave each rank
  const std::vector<Schedule> schedules = grow_trees(t, make_collective("broadcast", 8, 12));
  ASSERT_FALSE(schedules.empty());
  EXPECT_LE(total_rounds(schedules.back()), 5);  // twice what leaves the root, and one
}

TEST(TreeGrowth, NoneOfWhatItIsNotFor) {
  const Topology t = test::ring(4);
  EXPECT_THAT(grow_trees(t, make_collective("alltoall", 4, 1)), IsEmpty());
  EXPECT_THAT(grow_trees(t, make_collective("scatter", 4, 1)), IsEmpty());
  EXPECT_THAT(grow_trees({.name = "apart", .ranks = 2}, make_collective("allgather", 2, 1)), IsEmpty());
  const std::atomic<bool> stop = true;
  EXPECT_THAT(grow_trees(t, make_collective("allgather", 4, 1), &stop), IsEmpty());
}

}  // namespace
}  // namespace chorale
