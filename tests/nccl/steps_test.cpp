// Plans of steps, and what is reported when a rank does not keep to its plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "construct/baselines/classic.h"
#include "ir/step_rows.h"
#include "runtime/device/nccl_steps.h"
#include "tests/codegen/passes_alone.h"
#include "tests/kit/baselines.h"
#include "tests/nccl/ranks.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

const NcclCalls nccl = linked_nccl();

StepRows steps_by_hand(const std::string& name, int ranks, int chunks = 0) {
  const Topology topology = named_topology("full:" + std::to_string(ranks));
  const Point point = classic_algorithm(name, topology, {.chunks = chunks});
  return step_rows(*lower(accepted(topology, point.collective, point.schedule)));
}

std::size_t messages(const StepPlan& plan) {
  std::size_t count = 0;
  for (const PlannedStep& step : plan.steps) count += step.sends.size() + step.recvs.size();
  return count;
}

// Each rank sends its 3 chunks to the next one in each of 3 steps. In input and output they lie one after the
// other, whatever their lengths: one message.
TEST(StepPlan, ConsecutiveChunksAreOneMessage) {
  const StepRows program = steps_by_hand("ring_allgather", 4, 3);
  const StepTables tables = program.tables();
  for (std::int64_t n : {3, 7, 1000}) {
    const StepPlan plan = make_step_plan(tables, 1, n);
    EXPECT_EQ(messages(plan), 6u) << n;
    EXPECT_EQ(plan.scratch, 0);
  }
  EXPECT_EQ(messages(make_step_plan(tables, 1, 0)), 0u);
}

// A ring's ReduceScatter adds one chunk per step: one launch with one sum of two sources.
TEST(StepPlan, AStepIsOneLaunch) {
  const StepRows program = steps_by_hand("ring_allreduce", 4);
  const StepPlan plan = make_step_plan(program.tables(), 2, 1000);
  for (int s = 0; s < 3; ++s) {
    ASSERT_EQ(plan.steps[s].chains.size(), 1u);
    ASSERT_EQ(plan.steps[s].chains[0].size(), 1u);
    EXPECT_EQ(plan.steps[s].chains[0][0].from.size(), 2u);
  }
  for (int s = 3; s < 6; ++s) EXPECT_THAT(plan.steps[s].chains, IsEmpty());
}

// What arrives over an input that is still needed goes beside it: no copy of the whole input.
TEST(StepPlan, InPlaceNeedsNoCopyOfTheInput) {
  int seen = 0;
  for (const ClassicEntry& entry : classic_catalogue()) {
    if (entry.collective != CollectiveKind::AllReduce ||
        !test::baseline(entry.method, named_topology("full:4")))
      continue;
    const StepRows program = steps_by_hand(name_of(entry.method), 4);
    for (int n = 0; n < 4; ++n)
      EXPECT_TRUE(make_step_plan(program.tables(), n, 999, {.shared = true}).sound)
          << name_of(entry.method) << ", rank " << n;
    ++seen;
  }
  EXPECT_GE(seen, 5);
}

// One rank's program: output[0] arrives in step 1, and the input that lies there is sent in step 2.
TEST(StepPlan, KnowsWhenTheInputIsNeededTooLate) {
  const std::array<int, 3> slots[] = {{1, 1, 0}, {1, 1, 0}};
  const StepMessage messages[] = {{0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, {1, 0, 0, 0, 1, 1, 0, 0, 0, 0}};
  const StepTables tables{2, 2, 1, slots, messages, 2, nullptr, 0};
  EXPECT_TRUE(make_step_plan(tables, 0, 10).sound);
  EXPECT_FALSE(make_step_plan(tables, 0, 10, {.shared = true}).sound);
  EXPECT_TRUE(make_step_plan(tables, 1, 10, {.shared = true}).sound);
}

// More sources than a launch takes: it is cut, and the parts are added up.
TEST(NcclSteps, LongSumsAreCut) {
  constexpr int sources = 1000;
  const DeviceMemory input(sources * 5 * sizeof(int)), output(5 * sizeof(int));
  int* const in = reinterpret_cast<int*>(input.data());
  for (int i = 0; i < sources * 5; ++i) in[i] = i;
  OwnSum sum{.to = {1, 0, 5}};
  for (int i = 0; i < sources; ++i) sum.from.push_back({0, 5 * i, 5});
  // And sums that depend on it, more than a launch has.
  StepPlan plan{.input = sources * 5, .output = 5, .steps = {{.chains = {{sum}}}}};
  for (int i = 0; i < 100; ++i) plan.steps[0].chains[0].push_back({{1, 0, 5}, {{1, 0, 5}, {0, 0, 5}}});
  const auto thrown = on_gpus(1, [&](GpuRank& mine) {
    const NcclRun run{
        .type = ncclInt32, .input = in, .output = output.data(), .comm = mine.comm, .stream = mine.stream};
    require(NcclSteps(plan, nccl, run).enqueue(), "enqueue");
  });
  EXPECT_THAT(thrown, Each(IsEmpty()));
  for (int e = 0; e < 5; ++e)
    EXPECT_EQ(reinterpret_cast<int*>(output.data())[e],
              5 * sources * (sources - 1) / 2 + sources * e + 100 * e);
}

// In place: the last of many sources lies where the sum goes, and is not lost when the first part of it is
// written.
TEST(NcclSteps, WhatLiesUnderALongSumIsAddedFirst) {
  constexpr int sources = 300;
  const DeviceMemory memory(sources * 5 * sizeof(int));
  int* const all = reinterpret_cast<int*>(memory.data());
  for (int i = 0; i < sources * 5; ++i) all[i] = i;
  OwnSum sum{.to = {1, 0, 5}};
  for (int i = 0; i < sources; ++i) sum.from.push_back({0, 5 * i, 5});
  const StepPlan plan{.input = sources * 5, .output = 5, .steps = {{.chains = {{sum}}}}};
  int* const last = all + 5 * (sources - 1);
  const auto thrown = on_gpus(1, [&](GpuRank& mine) {
    const NcclRun run{
        .type = ncclInt32, .input = all, .output = last, .comm = mine.comm, .stream = mine.stream};
    require(NcclSteps(plan, nccl, run).enqueue(), "enqueue");
  });
  EXPECT_THAT(thrown, Each(IsEmpty()));
  for (int e = 0; e < 5; ++e) EXPECT_EQ(last[e], 5 * sources * (sources - 1) / 2 + sources * e);
}

// 1 + 2^-8 + 2^-8 is 1 + 2^-7 in bfloat16, rounded once; after each addition it is 1: ties go to even. Sums
// that do not fit into a launch are in the next one, and not cut.
TEST(NcclSteps, SumsOfHalvesAreRoundedOnce) {
  constexpr int sums = 100, each = 3;
  for (const bool once : {false, true}) {
    const DeviceMemory input(each * sizeof(Bfloat16)), output(sums * sizeof(Bfloat16));
    for (int i = 0; i < each; ++i)
      reinterpret_cast<Bfloat16*>(input.data())[i] = Bfloat16(i == 0 ? 1.0f : 0x1p-8f);
    StepPlan plan{.input = each, .output = sums, .once = once, .steps = {{}}};
    for (int s = 0; s < sums; ++s)
      plan.steps[0].chains.push_back({{.to = {1, s, 1}, .from = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}}}});
    const auto thrown = on_gpus(1, [&](GpuRank& mine) {
      const NcclRun run{.type = ncclBfloat16,
                        .input = input.data(),
                        .output = output.data(),
                        .comm = mine.comm,
                        .stream = mine.stream};
      require(NcclSteps(plan, nccl, run).enqueue(), "enqueue");
    });
    EXPECT_THAT(thrown, Each(IsEmpty()));
    for (int s = 0; s < sums; ++s)
      EXPECT_EQ(static_cast<float>(reinterpret_cast<Bfloat16*>(output.data())[s]), once ? 1 + 0x1p-7f : 1);
  }
}

// Four ranks do a ring AllReduce, rank 1 by a changed plan. What each rank states.
std::vector<std::string> said(const std::function<void(StepPlan&)>& change) {
  const StepRows program = steps_by_hand("ring_allreduce", 4);
  return on_gpus(4, [&](GpuRank& mine) {
    StepPlan plan = make_step_plan(program.tables(), mine.rank, 64);
    if (mine.rank == 1) change(plan);
    const DeviceMemory input(plan.input * 4), output(plan.output * 4), scratch(plan.scratch * 4);
    const NcclRun run{.type = ncclInt32,
                      .input = input.data(),
                      .output = output.data(),
                      .scratch = scratch.data(),
                      .comm = mine.comm,
                      .stream = mine.stream,
                      .rank = mine.rank};
    NcclSteps steps(plan, nccl, run);
    const ncclResult_t result = steps.run_checked(std::chrono::milliseconds(300));
    if (result == ncclSuccess) return;
    const std::string fault = steps.fault();
    ncclCommAbort(mine.comm);
    throw std::runtime_error(fault);
  });
}

// Rank 1 receives from rank 0 and sends to rank 2.
TEST(NcclSteps, HangsNameRankStepAndPeers) {
  EXPECT_THAT(said([](StepPlan&) {}), Each(IsEmpty()));
  // Messages match by their order, so one that is lost on the way shows when one is missing at the end.
  const auto lost = said([](StepPlan& plan) { plan.steps[5].recvs.clear(); });
  EXPECT_THAT(lost, Contains(HasSubstr("rank 0, step 6: messages from rank 3, to rank 1")));
  const auto unsent = said([](StepPlan& plan) { plan.steps[2].sends.clear(); });
  EXPECT_THAT(unsent, Contains(HasSubstr("rank 2, step 6: messages from rank 1, to rank 3")));
  const auto wrong_peer = said([](StepPlan& plan) { plan.steps[0].recvs[0].peer = 3; });
  EXPECT_THAT(wrong_peer, Contains(HasSubstr("rank 1, step 1: messages from rank 3, to rank 2")));
  const auto absent = said([](StepPlan& plan) { plan.steps.clear(); });
  EXPECT_THAT(absent, Contains(HasSubstr("rank 2, step 1: messages from rank 1, to rank 3")));
}

TEST(NcclSteps, OtherSizesAreErrors) {
  const auto shorter = said([](StepPlan& plan) { --plan.steps[3].recvs[0].span.count; });
  EXPECT_THAT(shorter,
              Contains(HasSubstr("rank 1, step 4: messages from rank 0, to rank 2: remote process error")));
  const auto nobody = said([](StepPlan& plan) { plan.steps[3].sends[0].peer = 4; });
  EXPECT_THAT(nobody, Contains(HasSubstr("rank 1, step 4: ncclSend to rank 4: invalid argument")));
}

}  // namespace
}  // namespace chorale
