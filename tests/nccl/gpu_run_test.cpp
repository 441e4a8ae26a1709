// What `chorale run --transport gpu` does, on the stand-in for CUDA.
#include "runtime/gpu_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "construct/baselines/classic.h"
#include "tests/codegen/passes_alone.h"
#include "tests/kit/refusal.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using testing::HasSubstr;

struct Example {
  Collective collective;
  PeerProgram program;
};

Example by_hand(const std::string& name, int ranks, bool with_one_memory = false) {
  const Topology topology = named_topology("full:" + std::to_string(ranks));
  const Point point = classic_algorithm(name, topology);
  const Program apart = lower(topology, point.collective, point.schedule);
  return {point.collective,
          to_peers(point.collective, with_one_memory ? in_place(topology, point.collective, apart) : apart)};
}

void expect_right(const Example& example, const RunOptions& options, std::size_t rows) {
  const std::vector<RunRow> all = run_peers_on_gpu(unverified(example.program, example.collective), options);
  EXPECT_EQ(all.size(), rows);
  for (const RunRow& row : all)
    EXPECT_EQ(row.wrong, 0) << example.program.name << " " << row.bytes << " " << to_string(row.type) << " "
                            << to_string(row.op);
}

TEST(GpuRun, Baselines) {
  const RunOptions options = {.bytes = {0, 8, 8 * 101}, .iterations = 1, .warm_up = 1};
  for (const char* name : {"ring_allreduce", "direct_alltoall", "ring_allgather", "ring_reducescatter",
                           "binomial_broadcast", "tree_reduce"})
    for (bool one : {false, true}) expect_right(by_hand(name, 3, one), options, 3);
}

TEST(GpuRun, TypesAndOperations) {
  const std::vector<ElementType> every = {ElementType::Float32, ElementType::Float64, ElementType::Int32,
                                          ElementType::Int64,   ElementType::Int8,    ElementType::Uint8,
                                          ElementType::Uint32,  ElementType::Uint64,  ElementType::Float16,
                                          ElementType::Bfloat16};
  RunOptions options = {.bytes = {8 * 13},
                        .types = every,
                        .ops = {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max, ReduceOp::Avg},
                        .iterations = 1,
                        .warm_up = 0};
  expect_right(by_hand("direct_allreduce", 2), options, 50);
  options.accumulation = Accumulation::Float32;
  options.types = {ElementType::Float16, ElementType::Bfloat16};
  expect_right(by_hand("ring_allreduce", 3), options, 10);
}

TEST(GpuRun, AFunctionFollowsSums) {
  const std::vector<EpilogueOperand> operands = {
      {.name = "bias", .type = ElementType::Float16, .period = 3},
      {.name = "mask", .type = ElementType::Uint8, .layout = OperandLayout::Sliced}};
  const Topology topology = named_topology("full:3");
  const Point point = classic_algorithm("ring_reducescatter", topology);
  const Program program = with_epilogue(
      topology, point.collective, lower(topology, point.collective, point.schedule),
      {parse_expression("select(mask < 1, 0, (x + bias) * 2 - index)", operands, ""), operands});
  const Example example{point.collective, to_peers(point.collective, program)};
  const RunOptions options{.bytes = {8 * 13},
                           .types = {ElementType::Float32, ElementType::Int8, ElementType::Bfloat16},
                           .ops = {ReduceOp::Sum, ReduceOp::Avg},
                           .iterations = 1};
  expect_right(example, options, 6);
  Example changed = example;
  for (PeerRank& rank : changed.program.ranks)
    for (PeerBlock& block : rank.blocks)
      for (PeerInstruction& i : block.instructions)
        if (applies(i.does)) i.does.position = -1;
  EXPECT_GT(run_peers_on_gpu(unverified(changed.program, changed.collective), options).at(0).wrong, 0);
}

// The check is of what lies on the GPU: an algorithm that copies where it should add is found out.
TEST(GpuRun, WrongElementsAreCounted) {
  Example example = by_hand("direct_allreduce", 2);
  for (PeerRank& rank : example.program.ranks)
    for (PeerBlock& block : rank.blocks)
      for (PeerInstruction& i : block.instructions)
        if (adds(i.does)) i.does.from.resize(1);
  const auto rows =
      run_peers_on_gpu(unverified(example.program, example.collective), {.bytes = {64}, .iterations = 1});
  EXPECT_GT(rows.at(0).wrong, 0);
}

TEST(GpuRun, WhoDoesNotComeIsNamed) {
  Example example = by_hand("ring_allgather", 3);
  std::vector<PeerInstruction>& instructions = example.program.ranks[0].blocks[0].instructions;
  const auto wait = std::ranges::find_if(
      instructions, [](const PeerInstruction& i) { return i.opcode == PeerOpcode::Wait && i.lag == 0; });
  ASSERT_NE(wait, instructions.end());
  wait->value = 3;  // nobody raises it so far
  try {
    run_peers_on_gpu(unverified(example.program, example.collective),
                     {.bytes = {64}, .iterations = 1, .timeout = std::chrono::milliseconds(300)});
    FAIL() << "nobody was missed";
  } catch (const Hang& hang) {
    EXPECT_THAT(hang.what(), HasSubstr("block 0, instruction"));
    EXPECT_THAT(hang.what(), HasSubstr("did not raise it within 0.3 s"));
  }
}

TEST(GpuRun, ProgramsThatDoNotFitAreRefused) {
  const Example example = by_hand("ring_allgather", 17);  // the stand-in has room for 16 thread blocks
  EXPECT_THAT(test::refusal_of([&] {
                run_peers_on_gpu(unverified(example.program, example.collective), {.bytes = {64}});
              }),
              HasSubstr("has 17 blocks that wait for each other, the GPU has room for 16"));
}

}  // namespace
}  // namespace chorale
