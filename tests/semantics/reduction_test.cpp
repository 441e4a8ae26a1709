#include "semantics/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/faults.h"

namespace chorale {
namespace {

using Operation = StrategyInstruction::Operation;
using test::is;
using test::Kind;
using test::says;
using ::testing::Optional;

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
  EXPECT_EQ(state.apply(Operation::AllReduce, kPair), std::nullopt);
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 3, 3}));
  EXPECT_EQ(rows_of(state, 1), (Rows{3, 3, 3, 3}));
  EXPECT_EQ(rows_of(state, 2), (Rows{4, 4, 4, 4}));
}

TEST(Reduction, ReduceScatterGivesEachItsPartInRowOrder) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::ReduceScatter, kPair), std::nullopt);
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 0, 0}));
  EXPECT_EQ(rows_of(state, 1), (Rows{0, 0, 3, 3}));
  EXPECT_EQ(state.apply(Operation::AllGather, kPair), std::nullopt);
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 3, 3}));
}

TEST(Reduction, ReduceLeavesTheSumWithTheFirst) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::Reduce, {{1, 0}}), std::nullopt);
  EXPECT_EQ(rows_of(state, 1), (Rows{3, 3, 3, 3}));
  EXPECT_EQ(rows_of(state, 0), (Rows{0, 0, 0, 0}));
  EXPECT_EQ(state.apply(Operation::Broadcast, {{1, 0}}), std::nullopt);
  EXPECT_EQ(rows_of(state, 0), (Rows{3, 3, 3, 3}));
}

// Each rule has a state that breaks just that rule, and a broken rule changes nothing.
TEST(Reduction, BrokenRulesAreNamed) {
  const auto said = [](ReductionState state, Operation operation, const DeviceGroups& groups) {
    const ReductionState before = state;
    const std::optional<Fault> problem = state.apply(operation, groups);
    EXPECT_EQ(state, before);
    return problem.value_or(Fault{});
  };
  ReductionState start(3), summed = start, scattered(4), rooted(4);
  EXPECT_EQ(summed.apply(Operation::AllReduce, {{0, 1}}), std::nullopt);
  EXPECT_EQ(scattered.apply(Operation::ReduceScatter, {{0, 1}}), std::nullopt);
  EXPECT_EQ(rooted.apply(Operation::Reduce, {{0, 1}}), std::nullopt);
  for (Operation operation : {Operation::AllReduce, Operation::ReduceScatter, Operation::Reduce}) {
    EXPECT_THAT(said(summed, operation, {{0, 1}}),
                says(Kind::CountedTwice,
                     std::string(name(operation)) +
                         " in {0, 1}: the contribution of device 0 to chunk 0 would count twice"));
    EXPECT_THAT(said(scattered, operation, {{0, 2}}), is(Kind::Match, {.rank = 2}));
  }
  EXPECT_THAT(said(start, Operation::ReduceScatter, {{0, 1}}),
              says(Kind::Size, "ReduceScatter in {0, 1}: 3 chunks cannot be scattered over 2 devices"));
  EXPECT_THAT(said(start, Operation::AllGather, {{0, 1}}), says(Kind::Repeated, "two devices hold chunk 0"));
  EXPECT_THAT(said(rooted, Operation::AllGather, {{0, 1}}), says(Kind::Absent, "device 1 holds nothing"));
  EXPECT_THAT(said(scattered, Operation::AllGather, {{0, 2}}), says(Kind::Match, "different numbers"));
  EXPECT_THAT(said(start, Operation::Broadcast, {{0, 1}}), says(Kind::Match, "device 1 would lose"));
  EXPECT_THAT(said(summed, Operation::Broadcast, {{0, 1}}), says(Kind::Repeated, "no device would learn"));
}

// If one group breaks a rule, no group acts.
TEST(Reduction, GroupsActTogetherOrNotAtAll) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::AllReduce, {{0, 1}}), std::nullopt);
  const ReductionState before = state;
  EXPECT_NE(state.apply(Operation::AllReduce, {{2, 3}, {0, 1}}), std::nullopt);
  EXPECT_EQ(state, before);
}

TEST(Reduction, NothingToSumIsLegalNothingToGatherIsNot) {
  ReductionState state(kDevices);
  EXPECT_EQ(state.apply(Operation::Reduce, {{0, 1}, {2, 3}}), std::nullopt);
  const ReductionState before = state;
  EXPECT_EQ(state.apply(Operation::AllReduce, {{1, 3}}), std::nullopt);
  EXPECT_EQ(state.apply(Operation::ReduceScatter, {{1, 3}}), std::nullopt);
  EXPECT_EQ(state.apply(Operation::Reduce, {{1, 3}}), std::nullopt);
  EXPECT_EQ(state, before);
  EXPECT_NE(state.apply(Operation::AllGather, {{1, 3}}), std::nullopt);
}

// The two invalid strategies of figure 4, and what else a strategy can get wrong.
TEST(Reduction, FaultsOfStrategies) {
  const DeviceGroups all = {{0, 1, 2, 3}}, pairs = {{0, 1}, {2, 3}}, others = {{0, 2}, {1, 3}};
  EXPECT_EQ(fault(4, {{Operation::AllReduce, all}}, all), std::nullopt);
  EXPECT_EQ(fault(4, {{Operation::AllReduce, pairs}, {Operation::AllReduce, others}}, all), std::nullopt);
  EXPECT_THAT(fault(4, {{Operation::AllReduce, pairs}, {Operation::AllReduce, all}}, all),
              Optional(is(Kind::CountedTwice, {.rank = 1, .instruction = 1, .chunk = 0})));
  EXPECT_THAT(fault(4, {{Operation::AllReduce, pairs}}, all),
              Optional(says(Kind::Outcome, "at the end: device 0 does not have the sum of chunk 0")));
  EXPECT_THAT(fault(4, {{Operation::AllReduce, all}}, pairs), Optional(is(Kind::Outcome)));
  EXPECT_THAT(fault(4, {{Operation::AllReduce, {{0, 1}, {1, 2}}}}, all),
              Optional(says(Kind::Form, "instruction 1: device 1 is in a group twice")));
  EXPECT_THAT(fault(4, {{Operation::AllReduce, {{0, 4}}}}, all),
              Optional(is(Kind::Form, {.rank = 4, .instruction = 0})));
  EXPECT_THAT(fault(4, {{Operation::AllReduce, {{}}}}, all), Optional(says(Kind::Form, "empty group")));
  EXPECT_THAT(fault(65, {}, {}), Optional(is(Kind::Size)));
}

}  // namespace
}  // namespace chorale
