// What `chorale run --transport nccl` and `chorale bench --gpu` do, with ranks as threads over the stand-in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "runtime/exchange/threads.h"
#include "runtime/nccl_run.h"
#include "tests/codegen/passes_alone.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using testing::HasSubstr;

struct RunExample {
  Collective collective;
  Program program;
};

RunExample example_by_hand(const std::string& name, int ranks) {
  const Topology topology = named_topology("full:" + std::to_string(ranks));
  const Point point = classic_algorithm(name, topology);
  return {point.collective, lower(topology, point.collective, point.schedule)};
}

const RunOptions options = {.bytes = {0, 8, 8 * 101},
                            .types = {ElementType::Float32, ElementType::Int64, ElementType::Bfloat16},
                            .ops = {ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Max},
                            .iterations = 1,
                            .warm_up = 1};

TEST(NcclRun, BaselinesAndNcclsOwn) {
  for (const char* name : {"ring_allreduce", "direct_alltoall", "ring_allgather", "ring_reducescatter",
                           "binomial_broadcast", "binomial_reduce"})
    for (bool in_place : {false, true}) {
      const RunExample example = example_by_hand(name, 4);
      on_thread_ranks(4, [&](Transport& transport) {
        std::vector<RunRow> all = run_on_nccl(
            transport, transport.rank(), unverified(example.program, example.collective), options, in_place);
        const std::vector<RunRow> library =
            run_nccl_library(transport, transport.rank(), example.collective, options, in_place);
        EXPECT_EQ(all.size(), library.size());
        all.insert(all.end(), library.begin(), library.end());
        EXPECT_GE(all.size(), 18u);
        for (const RunRow& row : all) EXPECT_EQ(row.wrong, 0) << name << in_place << " " << row.bytes;
      });
    }
}

// The check is of what lies on the GPU: an algorithm for another collective is found out.
TEST(NcclRun, WrongElementsAreCounted) {
  const RunExample right = example_by_hand("ring_allreduce", 4);
  const RunExample other = example_by_hand("recursive_doubling_allreduce", 4);
  Program program = other.program;
  for (RankProgram& rank : program.ranks)
    for (ThreadBlock& block : rank.blocks)
      for (Instruction& i : block.instructions)
        if (adds(i.does)) i.does.from.erase(i.does.from.begin());
  on_thread_ranks(static_cast<int>(program.ranks.size()), [&](Transport& transport) {
    EXPECT_GT(run_on_nccl(transport, transport.rank(), unverified(program, other.collective),
                          {.bytes = {4096}, .iterations = 1}, false)
                  .front()
                  .wrong,
              0);
  });
}

TEST(NcclRun, RefusesWhatItCannot) {
  const RunExample gather = example_by_hand("binomial_gather", 4);
  on_thread_ranks(static_cast<int>(gather.program.ranks.size()), [&](Transport& transport) {
    EXPECT_THAT([&] { run_nccl_library(transport, transport.rank(), gather.collective, options, false); },
                testing::ThrowsMessage<InputError>(HasSubstr("NCCL has no gather")));
    EXPECT_THAT(
        [&] {
          run_on_nccl(transport, transport.rank(), unverified(gather.program, gather.collective),
                      {.types = {ElementType::Float16}, .accumulation = Accumulation::Float32}, false);
        },
        testing::ThrowsMessage<InputError>(HasSubstr("--accumulate float32")));
  });
}

}  // namespace
}  // namespace chorale
