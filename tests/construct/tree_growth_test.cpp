// Copies to all on machines whose tightest cut is known by hand; tests/property has random ones.
#include "construct/exact/tree_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "construct/incumbents.h"
#include "tests/semantics/machines.h"
#include "topology/machines.h"

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
// node of an A100 what the node lacks over its 8 NICs.
TEST(TreeGrowth, NamedMachines) {
  const std::vector<Known> known = {
      {"ring:8", "allgather", 2, 4, 7},       {"ring:8", "reducescatter", 2, 4, 7},
      {"torus:4x4", "allgather", 4, 4, 15},   {"hypercube:4", "allgather", 4, 4, 15},
      {"mesh:4x4", "allgather", 2, 6, 15},    {"mesh:4x4", "reducescatter", 2, 6, 15},
      {"mesh:8x8", "allgather", 2, 14, 63},   {"dgx1", "allgather", 6, 3, 7},
      {"dgx2", "allgather", 1, 1, 15},        {"dgx-a100:2", "allgather", 13, 4, 15},
      {"line:8", "allgather", 1, 7, 7},       {"torus:8x8", "allgather", 4, 8, 63},
      {"hypercube:6", "allgather", 6, 6, 63}, {"dgx1", "reducescatter", 6, 4, 7},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(k.machine + " " + k.collective);
    const Topology t =
        load_topology(k.machine, {.import = {.line_rates = k.machine.starts_with("dgx-a100")}});
    const std::vector<Point> points = grown_incumbents(t, make_collective(k.collective, t.ranks, k.chunks));
    ASSERT_FALSE(points.empty());
    EXPECT_EQ(points.back().cost.rounds, k.rounds);
    EXPECT_LE(points.back().cost.steps, k.steps);
  }
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
