// Block programs on real data: what others wrote and what we make, all types, out of place and in place, with
// queues as shallow as they may be.
#include "runtime/block_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <span>

#include "codegen/msccl_xml.h"
#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "runtime/device/element_types.h"
#include "semantics/verify_blocks.h"
#include "tests/codegen/passes_alone.h"
#include "tests/runtime/everything.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using test::all_ops;
using test::all_types;
using test::wrong;

TEST(BlockExecutorLong, EveryBaselineOfTwoToSixteenRanks) {
  const RunOptions options{.bytes = {0, 1, 4, 4 * 37},
                           .types = {ElementType::Int32},
                           .ops = {ReduceOp::Sum},
                           .iterations = 1,
                           .warm_up = 0};
  const int programs = test::for_each_baseline([&](const Topology& topology, const Point& point) {
    const BlockProgram blocks = relax(point.collective, lower(topology, point.collective, point.schedule));
    EXPECT_EQ(wrong(run_blocks_on_threads(blocks, point.collective, options)), 0)
        << topology.name << " " << blocks.name;
  });
  EXPECT_GT(programs, 70);
}

TEST(BlockExecutor, EveryTypeAndOperationInAndOutOfPlace) {
  const Topology topology = named_topology("ring:4");
  for (const char* name : {"ring_allreduce", "ring_reducescatter", "ring_allgather"}) {
    const Point point = classic_algorithm(name, topology, {.chunks = 2});
    const Program program = lower(topology, point.collective, point.schedule);
    const RunOptions options{.bytes = {8, 8 * 101},
                             .types = all_types,
                             .ops = adds(point.collective) ? all_ops : std::vector{ReduceOp::Sum},
                             .iterations = 1,
                             .warm_up = 0};
    // How deep queues are and how many channels there are is nothing to a type: a few do, twice, of more
    // sizes.
    RunOptions few = options;
    few.bytes = {1, 8, 24, 8 * 101};
    few.warm_up = 1;
    few.types = {ElementType::Int8, ElementType::Float16, ElementType::Float64};
    if (adds(point.collective)) few.ops = {ReduceOp::Sum, ReduceOp::Avg};
    for (bool in_place : {false, true})
      for (int channels : {1, 2}) {
        const BlockProgram blocks =
            relax(point.collective, program, {.channels = channels, .in_place = in_place});
        EXPECT_EQ(
            wrong(run_blocks_on_threads(blocks, point.collective, in_place == (channels == 2) ? options : few,
                                        {.in_place = in_place})),
            0)
            << name << in_place;
      }
    const BlockProgram shallow = relax(point.collective, program, {.queue_depth = 1});
    EXPECT_EQ(wrong(run_blocks_on_threads(shallow, point.collective, few, {.queue_depth = 1})), 0) << name;
  }
}

// Rank 0 has 2048, where halves are 2 apart, and seven ranks have 1: see executor_test.cpp.
TEST(BlockExecutor, HalvesInFloat32AreRoundedOnce) {
  const Topology topology = named_topology("ring:8");
  const Point point = classic_algorithm("ring_allreduce", topology, {.chunks = 1});
  const Program program = lower(topology, point.collective, point.schedule);
  for (bool in_place : {false, true}) {
    const BlockProgram blocks = relax(point.collective, program, {.in_place = in_place});
    std::vector<std::vector<std::byte>> inputs;
    for (Rank n = 0; n < 8; ++n) {
      const std::vector<Float16> values(16, Float16(n == 0 ? 2048.0F : 1.0F));
      inputs.push_back({std::as_bytes(std::span(values)).begin(), std::as_bytes(std::span(values)).end()});
    }
    const auto right = [&](Accumulation accumulation) {
      int count = 0;
      for (const auto& output :
           outputs_of(unverified(blocks),
                      {.type = ElementType::Float16, .elements = 16, .accumulation = accumulation},
                      ReduceOp::Sum, inputs, {.in_place = in_place}))
        for (std::size_t e = 0; e < 16; ++e) {
          Float16 value;
          std::memcpy(&value, &output[2 * e], 2);
          count += value == Float16(2055.0F);
        }
      return count;
    };
    EXPECT_EQ(right(Accumulation::Float32), 8 * 16);
    EXPECT_LE(right(Accumulation::OwnType), 8 * 4);  // where it comes last or last but one
    const RunOptions options{.bytes = {2, 16, 2 * 1001},
                             .types = {ElementType::Float16, ElementType::Bfloat16, ElementType::Int8},
                             .ops = all_ops,
                             .iterations = 1,
                             .warm_up = 0,
                             .accumulation = Accumulation::Float32};
    EXPECT_EQ(wrong(run_blocks_on_threads(blocks, point.collective, options, {.in_place = in_place})), 0);
  }
}

// In a Reduce only the root has an output: in place, the others' memory is that of their inputs.
TEST(BlockExecutor, InPlaceWithOneBufferOnly) {
  const RunOptions options{
      .bytes = {4, 4 * 37}, .types = {ElementType::Int32}, .iterations = 1, .warm_up = 0};
  for (const char* name : {"binomial_reduce", "binomial_broadcast", "binomial_gather", "binomial_scatter"}) {
    const Topology topology = named_topology("full:5");
    const Point point = classic_algorithm(name, topology, {.chunks = 2});
    const BlockProgram blocks =
        relax(point.collective, lower(topology, point.collective, point.schedule), {.in_place = true});
    EXPECT_EQ(wrong(run_blocks_on_threads(blocks, point.collective, options, {.in_place = true})), 0) << name;
  }
}

// Sums of 1 become 5, and each element gets its index: e % 7 + 1 is added once, wherever sums are completed,
// and averages are divided before that. In place, of halves added in float32, of all types.
TEST(BlockExecutor, EpiloguesAreAppliedOnceToEverySum) {
  for (const char* name : {"ring_allreduce", "ring_reducescatter", "recursive_doubling_allreduce",
                           "tree_reduce", "one_shot_allreduce"}) {
    const Topology topology = named_topology("full:4");
    const Point point = classic_algorithm(name, topology, {.chunks = 2});
    const Program program = lower(topology, point.collective, point.schedule);
    for (bool in_place : {false, true}) {
      const BlockProgram blocks =
          relax(point.collective, with_epilogue(topology, point.collective, program), {.in_place = in_place});
      const auto rows = [&](const std::vector<ElementType>& types, Accumulation accumulation,
                            const EpilogueFunction& epilogue) {
        return run_blocks_on_threads(blocks, point.collective,
                                     {.bytes = {1, 8, 8 * 61},
                                      .types = types,
                                      .ops = {ReduceOp::Sum, ReduceOp::Avg},
                                      .iterations = 1,
                                      .warm_up = 0,
                                      .accumulation = accumulation},
                                     {.in_place = in_place, .epilogue = epilogue});
      };
      const std::vector<ElementType> halves_and_bytes = {ElementType::Int8, ElementType::Bfloat16,
                                                         ElementType::Float16};
      EXPECT_EQ(wrong(rows(all_types, Accumulation::OwnType, add_index)), 0) << name;
      EXPECT_EQ(wrong(rows(halves_and_bytes, Accumulation::Float32, add_index)), 0) << name;
      EXPECT_EQ(wrong(rows({ElementType::Float32}, Accumulation::OwnType, {})), 0) << name;
      // A ReduceScatter's blocks have the indices of the whole vector.
      const std::size_t blocks_in = point.collective.kind == CollectiveKind::ReduceScatter ? 4 : 1;
      std::vector<float> ones(blocks_in * 10, 1.0F);
      const std::vector<std::byte> input{std::as_bytes(std::span(ones)).begin(),
                                         std::as_bytes(std::span(ones)).end()};
      const auto outputs =
          outputs_of(unverified(blocks), {.elements = 10}, ReduceOp::Sum, {input, input, input, input},
                     {.in_place = in_place, .epilogue = add_index});
      for (std::size_t n = 0; n < 4; ++n)
        for (std::size_t e = 0; e < outputs[n].size() / 4; ++e) {
          float value = 0;
          std::memcpy(&value, &outputs[n][4 * e], 4);
          EXPECT_EQ(value, 4 + static_cast<float>((e + (blocks_in == 4 ? 10 * n : 0)) % 7 + 1)) << name;
        }
    }
  }
}

// Two blocks of a rank copy its block in turns: without the barrier the second would read what is not there.
TEST(BlockExecutor, BlocksMeetAtBarriers) {
  const BlockInstruction meet{.barrier = 7};
  const BlockProgram program{
      .collective = CollectiveKind::Allgather,
      .ranks = {
          {.input_chunks = 1,
           .output_chunks = 1,
           .scratch_chunks = 1,
           .blocks = {
               {.instructions = {{.does = copying({Buffer::Input, 0}, {Buffer::Scratch, 0})}, meet}},
               {.instructions = {meet, {.does = copying({Buffer::Scratch, 0}, {Buffer::Output, 0})}}}}}}};
  const Collective c = make_collective("allgather", 1, 1);
  ASSERT_EQ(violations(c, program, {.depth = 1}), std::vector<Fault>());
  const RunOptions options{.bytes = {4, 4 * 10007}, .types = {ElementType::Int32}, .iterations = 50};
  EXPECT_EQ(wrong(run_blocks_on_threads(program, c, options)), 0);
  BlockProgram alone = program;
  alone.ranks[0].blocks[0].instructions[0] = {.does = receiving({Buffer::Scratch, 0})};
  alone.ranks[0].blocks[0].recv_from = 0;
  try {
    outputs_of(unverified(alone), {.elements = 1}, ReduceOp::Sum, {std::vector<std::byte>(4)},
               {.timeout = std::chrono::milliseconds(50)});
    FAIL() << "did not hang";
  } catch (const Hang& hang) {
    EXPECT_THAT(hang.what(), ::testing::AnyOf(::testing::HasSubstr("(bar 7): 1 of its blocks did not come"),
                                              ::testing::HasSubstr("no message came from rank 0")));
  }
}

// Files that other projects ship.
TEST(BlockExecutorLong, RunsWhatOthersWrote) {
  const std::filesystem::path folder = CHORALE_SOURCE "/tests/data/msccl";
  int run = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const MscclFile file = msccl_from_xml(read_file(each.path().string()), each.path().filename().string());
    for (bool in_place : {false, true}) {
      if (in_place ? !file.in_place : !file.out_of_place) continue;
      ASSERT_EQ(violations(file.collective, file.program, {.depth = 2, .in_place = in_place}),
                std::vector<Fault>())
          << each.path();
      const RunOptions options{.bytes = {4 * 1000}, .iterations = 1, .warm_up = 0};
      EXPECT_EQ(wrong(run_blocks_on_threads(file.program, file.collective, options, {.in_place = in_place})),
                0)
          << each.path();
      ++run;
    }
  }
  EXPECT_EQ(run, 8);
}

TEST(BlockExecutor, AHangIsNamed) {
  // Rank 0 waits for a message that nobody sends.
  const BlockProgram program{
      .collective = CollectiveKind::Broadcast,
      .ranks = {{.input_chunks = 1,
                 .output_chunks = 1,
                 .blocks = {{.recv_from = 1, .instructions = {{.does = receiving({Buffer::Output, 0})}}}}},
                {.output_chunks = 1, .blocks = {{.send_to = 0, .instructions = {}}}}}};
  try {
    outputs_of(unverified(program), {.elements = 1}, ReduceOp::Sum, {std::vector<std::byte>(4), {}},
               {.timeout = std::chrono::milliseconds(50)});
    FAIL() << "did not hang";
  } catch (const Hang& hang) {
    EXPECT_THAT(
        hang.what(),
        ::testing::HasSubstr("rank 0, block 0, instruction 0 (r -> output[0]): no message came from rank 1"));
  }
}

}  // namespace
}  // namespace chorale
