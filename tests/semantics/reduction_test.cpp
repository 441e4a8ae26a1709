#include "semantics/reduction.h"

#include <gtest/gtest.h>

namespace chorale {
namespace {

using Operation = StrategyInstruction::Operation;

// Figure 8's examples have two of four devices take part: devices 0 and 1.
constexpr int kDevices = 4;
const DeviceGroups kPair = {{0, 1}};

std::vector<std::uint64_t> rows_of(const ReductionState& state, int device) {
  std::vector<std::uint64_t> rows;
  for (int chunk = 0; chunk < state.devices(); ++chunk) rows.push_back(state.row(device, chunk));
  return rows;
}

using Rows = std::vector<std::uint64_t>;

TEST(Reduction, AllReduceAddsEverywhere) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::AllReduce, kPair), "");
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 3, 3}));
  EXPECT_EQ(rows_of(state, 1), (Rows{3, 3, 3, 3}));
  EXPECT_EQ(rows_of(state, 2), (Rows{4, 4, 4, 4}));
}

TEST(Reduction, ReduceScatterGivesEachItsPartInRowOrder) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::ReduceScatter, kPair), "");
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 0, 0}));
  EXPECT_EQ(rows_of(state, 1), (Rows{0, 0, 3, 3}));
  EXPECT_EQ(state.apply(Operation::AllGather, kPair), "");
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 3, 3}));
}

TEST(Reduction, ReduceLeavesTheSumWithTheFirst) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::Reduce, {{1, 0}}), "");
  EXPECT_EQ(rows_of(state, 1), (Rows{3, 3, 3, 3}));
  EXPECT_EQ(rows_of(state, 0), (Rows{0, 0, 0, 0}));
  EXPECT_EQ(state.apply(Operation::Broadcast, {{1, 0}}), "");
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 3, 3}));
}

// Each rule has a state that breaks just that rule, and a broken rule changes nothing.
TEST(Reduction, BrokenRulesAreNamed) {
  const auto said = [](ReductionState state, Operation operation, const DeviceGroups& groups) {
    const ReductionState before = state;
    const std::string problem = state.apply(operation, groups);
    EXPECT_EQ(state, before);
    return problem;
  };
  ReductionState start(3), summed = start, scattered(4), rooted(4);
  EXPECT_EQ(summed.apply(Operation::AllReduce, {{0, 1}}), "");
  EXPECT_EQ(scattered.apply(Operation::ReduceScatter, {{0, 1}}), "");
  EXPECT_EQ(rooted.apply(Operation::Reduce, {{0, 1}}), "");
  for (Operation operation : {Operation::AllReduce, Operation::ReduceScatter, Operation::Reduce}) {
    EXPECT_EQ(said(summed, operation, {{0, 1}}),
              std::string(name(operation)) +
                  " in {0, 1}: the contribution of device 0 to chunk 0 would count twice");
    EXPECT_NE(said(scattered, operation, {{0, 2}}).find("devices 0 and 2 hold different chunks"),
              std::string::npos);
  }
  EXPECT_EQ(said(start, Operation::ReduceScatter, {{0, 1}}),
            "ReduceScatter in {0, 1}: 3 chunks cannot be scattered over 2 devices");
  EXPECT_NE(said(start, Operation::AllGather, {{0, 1}}).find("two devices hold chunk 0"), std::string::npos);
  EXPECT_NE(said(rooted, Operation::AllGather, {{0, 1}}).find("device 1 holds nothing"), std::string::npos);
  EXPECT_NE(said(scattered, Operation::AllGather, {{0, 2}}).find("different numbers"), std::string::npos);
  EXPECT_NE(said(start, Operation::Broadcast, {{0, 1}}).find("device 1 would lose"), std::string::npos);
  EXPECT_NE(said(summed, Operation::Broadcast, {{0, 1}}).find("no device would learn"), std::string::npos);
}

// If one group breaks a rule, no group acts.
TEST(Reduction, GroupsActTogetherOrNotAtAll) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::AllReduce, {{0, 1}}), "");
  const ReductionState before = state;
  EXPECT_NE(state.apply(Operation::AllReduce, {{2, 3}, {0, 1}}), "");
  EXPECT_EQ(state, before);
}

TEST(Reduction, NothingToSumIsLegalNothingToGatherIsNot) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::Reduce, {{0, 1}, {2, 3}}), "");
  const ReductionState before = state;
  EXPECT_EQ(state.apply(Operation::AllReduce, {{1, 3}}), "");
  EXPECT_EQ(state.apply(Operation::ReduceScatter, {{1, 3}}), "");
  EXPECT_EQ(state.apply(Operation::Reduce, {{1, 3}}), "");
  EXPECT_EQ(state, before);
  EXPECT_NE(state.apply(Operation::AllGather, {{1, 3}}), "");
}

// The two invalid strategies of figure 4, and what else a strategy can get wrong.
TEST(Reduction, FaultsOfStrategies) {
  const DeviceGroups all = {{0, 1, 2, 3}};
  EXPECT_EQ(fault(4, {{Operation::AllReduce, all}}, all), "");
  EXPECT_EQ(
      fault(4, {{Operation::AllReduce, {{0, 1}, {2, 3}}}, {Operation::AllReduce, {{0, 2}, {1, 3}}}}, all),
      "");
  EXPECT_NE(fault(4, {{Operation::AllReduce, {{0, 1}, {2, 3}}}, {Operation::AllReduce, all}}, all)
                .find("count twice"),
            std::string::npos);
  EXPECT_EQ(fault(4, {{Operation::AllReduce, {{0, 1}, {2, 3}}}}, all),
            "at the end: device 0 does not have the sum of chunk 0");
  EXPECT_NE(fault(4, {{Operation::AllReduce, all}}, {{0, 1}, {2, 3}}).find("at the end"), std::string::npos);
  EXPECT_NE(fault(4, {{Operation::AllReduce, {{0, 1}, {1, 2}}}}, all).find("device 1 is in a group twice"),
            std::string::npos);
  EXPECT_NE(fault(4, {{Operation::AllReduce, {{0, 4}}}}, all).find("no device 4"), std::string::npos);
  EXPECT_NE(fault(4, {{Operation::AllReduce, {{}}}}, all).find("empty group"), std::string::npos);
  EXPECT_NE(fault(65, {}, {}).find("cannot be refereed"), std::string::npos);
}

}  // namespace
}  // namespace chorale
