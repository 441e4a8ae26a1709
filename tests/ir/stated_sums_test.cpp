#include <gtest/gtest.h>

#include <set>

#include "ir/agreement.h"

namespace chorale {
namespace {

Collective allreduce(int ranks) {
  return make_collective("allreduce", ranks, 1);
}

Topology machine(int ranks, const std::vector<std::pair<Rank, Rank>>& ends) {
  Topology topology{.name = "test", .ranks = ranks};
  for (const auto& [src, dst] : ends) topology.links.push_back({.src = src, .dst = dst});
  return topology;
}

std::set<std::string> stated(const StatedStep& step) {
  std::set<std::string> words;
  for (const StatedSum& sum : step.sums) words.insert(sum.order + " at " + std::to_string(sum.rank));
  return words;
}

// Rank 2 has what 0 and 1 added up; rank 1 gets both others at once, and has to add 0 first.
TEST(StatedSums, SendsAreListedInTheOrderOfAdditions) {
  const Topology topology = machine(3, {{2, 1}, {1, 0}, {0, 1}, {0, 2}});
  const Schedule schedule{.steps = {{.sends = {{0, 0, true}, {0, 1, true}, {0, 2, true}}},
                                    {.sends = {{0, 1, false}, {0, 3, true}}}}};
  const std::vector<StatedStep> steps = stated_steps(topology, allreduce(3), schedule);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].sends, (std::vector<Send>{{0, 2, true}, {0, 1, true}, {0, 0, true}}));
  EXPECT_TRUE(steps[0].sums.empty());
  EXPECT_EQ(steps[1].sends, schedule.steps[1].sends);
}

// Each rank gets the values of all others in one step, over links by source and destination.
std::vector<StatedStep> one_shot(const std::string& order) {
  const Topology topology = machine(
      4, {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 3}, {3, 0}, {3, 1}, {3, 2}});
  Collective collective = allreduce(4);
  collective.order = parse_sum_order(order, 4, "test");
  Schedule schedule{.steps = {{}}};
  for (LinkId l = 0; l < 12; ++l) schedule.steps[0].sends.push_back({0, l, true});
  return stated_steps(topology, collective, schedule);
}

// Those that are neither of the first two ranks add their own value late.
TEST(StatedSums, SumsThatBeginWithOthersAreInBrackets) {
  EXPECT_EQ(stated(one_shot("agreed")[0]), (std::set<std::string>{"(0 1 2 3) at 2", "(0 1 2 3) at 3"}));
}

TEST(StatedSums, BracketsAreNested) {
  EXPECT_EQ(stated(one_shot("((0 1) (2 3))")[0]),
            (std::set<std::string>{"(0 1 (2 3)) at 0", "(0 1 (2 3)) at 1", "(0 1 (2 3)) at 2",
                                   "(0 1 (2 3)) at 3"}));
}

TEST(StatedSums, UnsoundSchedulesAreAsTheyAre) {
  const Topology topology = machine(2, {{0, 1}, {1, 0}});
  const Schedule out_of_range{.steps = {{.sends = {{7, 0, true}, {0, 9, true}}}}};
  EXPECT_EQ(stated_steps(topology, allreduce(2), out_of_range)[0].sends, out_of_range.steps[0].sends);
  const Schedule twice{.steps = {{.sends = {{0, 0, true}, {0, 0, true}, {0, 0, false}}}}};
  EXPECT_EQ(stated_steps(topology, allreduce(2), twice)[0].sends.size(), 3u);
}

}  // namespace
}  // namespace chorale
