// Strategies of placements as schedules: the verifier accepts each, which is to report that every device ends
// with the whole sum, or its part of it, each contribution counted once.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "codegen/strategy_source.h"
#include "placement/strategy_space.h"
#include "placement/synthesis_hierarchy.h"

namespace chorale {
namespace {

using Form = StrategyInstruction::Form;
using Operation = StrategyInstruction::Operation;

LoweredStrategy lowered(const std::vector<int>& sizes, const Strategy& strategy) {
  LoweredStrategy steps;
  for (const StrategyInstruction& each : strategy) steps.push_back({each.operation, groups_of(sizes, each)});
  return steps;
}

int devices_of(const std::vector<int>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
}

DeviceGroups all_together(int devices) {
  std::vector<int> all(devices);
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

// A wrong one is thrown as InputError.
TEST(StrategySchedules, AreAcceptedForEveryStrategy) {
  int tried = 0;
  for (const auto& sizes :
       {std::vector<int>{1, 5}, {1, 2, 2}, {1, 3, 2}, {1, 2, 5}, {1, 2, 3, 2}, {1, 3, 2, 2}}) {
    const auto space = StrategySpace::of(static_cast<int>(sizes.size()) - 1);
    const int devices = devices_of(sizes);
    int kept = 0;
    for (const Strategy& strategy : all_strategies(*space, Rules::Full, 5)) {
      if (sizes.size() == 4 && ++kept % 40 != 0) continue;  // some thousand
      ASSERT_NO_THROW(
          EXPECT_TRUE(strategy_schedule({}, all_together(devices), lowered(sizes, strategy), devices)));
      ++tried;
    }
  }
  EXPECT_GT(tried, 300);
}

// What ReduceScatters leave, AllGathers in the opposite order bring together.
TEST(StrategySchedules, AreAcceptedForScattersAndGathers) {
  for (const auto& sizes : {std::vector<int>{1, 5}, {1, 3, 2}, {1, 2, 3, 2}}) {
    const auto space = StrategySpace::of(static_cast<int>(sizes.size()) - 1);
    const int devices = devices_of(sizes);
    const std::vector<double> prices(space->charges().size(), 1);
    const auto scatters = cheapest_scatters(*space, prices, 20);
    EXPECT_FALSE(scatters.empty());
    for (const PricedStrategy& each : scatters) {
      LoweredStrategy steps = lowered(sizes, each.instructions);
      const auto scatter =
          strategy_schedule({.goal = Goal::ReduceScatter}, all_together(devices), steps, devices);
      ASSERT_TRUE(scatter);
      for (const ChunkSpec& chunk : scatter->collective().chunks) EXPECT_EQ(chunk.post.size(), 1U);
      std::reverse(steps.begin(), steps.end());
      for (LoweredInstruction& step : steps) step.operation = Operation::AllGather;
      const auto gather = strategy_schedule({.goal = Goal::AllGather}, all_together(devices), steps, devices);
      ASSERT_TRUE(gather);
      EXPECT_EQ(total_sends(*gather.value()), total_sends(*scatter.value()));
    }
  }
}

// Halves of neighbours are added up across, in quarters, and gathered: 1 step, 2 and 1. Each device sends two
// quarters, one, one, and two: six, as in an AllReduce of all four, of which nobody can send fewer on equal
// links.
TEST(StrategySchedules, SendNoMoreThanTheSingleAllReduce) {
  const std::vector<int> sizes = {1, 2, 2};
  const LoweredStrategy steps =
      lowered(sizes, {{.slice = 1, .form = Form::InsideGroup, .operation = Operation::ReduceScatter},
                      {.slice = 1, .form = Form::Parallel, .ancestor = 0, .operation = Operation::AllReduce},
                      {.slice = 1, .form = Form::InsideGroup, .operation = Operation::AllGather}});
  const auto schedule = strategy_schedule({}, all_together(4), steps, 4);
  ASSERT_TRUE(schedule);
  EXPECT_EQ((*schedule)->steps.size(), 4U);
  EXPECT_EQ(schedule->collective().chunks_per_block, 4);
  EXPECT_EQ(total_sends(**schedule), 24);
  const auto single = strategy_schedule({}, all_together(4), {{Operation::AllReduce, all_together(4)}}, 4);
  EXPECT_EQ(total_sends(**single), 24);
}

// Pairs of six devices: three sums side by side.
TEST(StrategySchedules, OfSeveralGroups) {
  const DeviceGroups pairs = {{0, 3}, {1, 4}, {2, 5}};
  const auto schedule = strategy_schedule({}, pairs, {{Operation::AllReduce, pairs}}, 6);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->collective().chunks.size(), 6U);
  EXPECT_EQ(schedule->collective().chunks[2].pre, (RankSet{1, 4}));
}

// 257 * 256 * 2 sends.
TEST(StrategySchedules, AreNotListedWhereThereIsTooMuch) {
  EXPECT_FALSE(strategy_schedule({}, all_together(257), {{Operation::AllReduce, all_together(257)}}, 257));
}

}  // namespace
}  // namespace chorale
