// Sums along one tree. The verifier is the verifier: it knows the tree and nothing of how schedules were
// made.
#include "construct/fixed_order.h"

#include <gtest/gtest.h>

#include <climits>

#include "semantics/verify.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

Topology named(const char* name) {
  return flatten(load_topology(name));
}

Collective along(const std::string& tree, CollectiveKind kind, int ranks, int chunks) {
  Collective c = make_collective(kind, ranks, chunks);
  c.order = parse_sum_order(tree, ranks, "test");
  return c;
}

// On a path each rank adds its own to what comes from the left, but the last, which sends its own to the one
// before: 0 to 3 takes three steps, and so does the way back.
TEST(FixedOrder, AlongAPath) {
  const Topology line = named("line:5");
  WorkBudget effort(LLONG_MAX, nullptr);
  const Collective one = along("(0 1 2 3 4)", CollectiveKind::AllReduce, 5, 1);
  const auto schedules = sums_in_order(line, one, effort);
  ASSERT_EQ(schedules.size(), 1u);
  EXPECT_EQ(schedules[0].steps.size(), 6u);
  EXPECT_TRUE(violations(line, one, schedules[0]).empty());
}

// Halves of a hypercube are linked rank by rank: recursive halving and doubling.
TEST(FixedOrder, HalvesOfAHypercube) {
  const Topology cube = named("hypercube:3");
  WorkBudget effort(LLONG_MAX, nullptr);
  const Collective sum = along("(((0 1) (2 3)) ((4 5) (6 7)))", CollectiveKind::ReduceScatter, 8, 1);
  const auto schedules = sums_in_order(cube, sum, effort);
  ASSERT_FALSE(schedules.empty());
  EXPECT_EQ(schedules.front().steps.size(), 3u);
}

// Each rank is sent its part of all inputs in one step: an Alltoall.
TEST(FixedOrder, SumsThatAreMadeAtOnce) {
  for (const char* name : {"full:8", "dgx-a100:1", "full:3"}) {
    const Topology machine = named(name);
    WorkBudget effort(LLONG_MAX, nullptr);
    for (const CollectiveKind kind : {CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
      const Collective once = along("once", kind, machine.ranks, machine.ranks);
      const auto schedules = sums_in_order(machine, once, effort);
      ASSERT_FALSE(schedules.empty()) << name;
      for (const Schedule& schedule : schedules)
        EXPECT_EQ(violations(machine, once, schedule, 1), std::vector<Fault>{}) << name;
    }
  }
  WorkBudget effort(LLONG_MAX, nullptr);
  EXPECT_TRUE(sums_in_order(named("ring:4"), along("once", CollectiveKind::AllReduce, 4, 1), effort).empty());
}

// On a ring of eight the sum of 0 to 3 cannot lie beside that of 4 to 7 where each is made over one link: it
// passes a rank that is in it. The tree of pairs of pairs is better there than the chain, 2.4 times.
TEST(FixedOrder, PartialSumsPassRanksThatAreInThem) {
  const Topology ring = named("ring:8");
  const Collective asked = make_collective(CollectiveKind::AllReduce, 8, 8);
  int rounds[2] = {};
  for (const auto& [k, tree] : {std::pair(0, "by-index"), {1, "(0 1 2 3 4 5 6 7)"}}) {
    WorkBudget effort(LLONG_MAX, nullptr);
    const Collective sum = along(tree, CollectiveKind::AllReduce, 8, 8);
    const auto schedules = sums_in_order(ring, sum, effort);
    ASSERT_FALSE(schedules.empty()) << tree;
    for (const Schedule& schedule : schedules)
      EXPECT_EQ(violations(ring, sum, schedule, 1), std::vector<Fault>{}) << tree;
    rounds[k] = total_rounds(schedules.back());
  }
  EXPECT_LT(rounds[0], rounds[1]);
  EXPECT_NE(suitable_tree(ring, asked), parse_sum_order("(0 1 2 3 4 5 6 7)", 8, "test").tree);
}

// The first chunk is planned where no other is, and again when all are: eight rounds become six.
TEST(FixedOrder, ChunksArePlannedAgainBesideTheOthers) {
  const Topology mesh = named("mesh:2x4");
  WorkBudget effort(LLONG_MAX, nullptr);
  const auto schedules = sums_in_order(mesh, along("by-index", CollectiveKind::ReduceScatter, 8, 1), effort);
  ASSERT_FALSE(schedules.empty());
  EXPECT_LE(total_rounds(schedules.back()), 6);
}

// 0 and 2 are not linked, so nobody can add them up before 1 comes in.
TEST(FixedOrder, NoneWhereOperandsDoNotMeet) {
  WorkBudget effort(LLONG_MAX, nullptr);
  EXPECT_TRUE(
      sums_in_order(named("line:3"), along("((0 2) 1)", CollectiveKind::AllReduce, 3, 1), effort).empty());
}

}  // namespace
}  // namespace chorale
