// The source of the CUDA kernel on threads of the CPU, over programs with mailboxes. Built a second time
// under ThreadSanitizer (tests/scripts/kernel.cmake), which looks for races of the kernel itself.
#include "runtime/peer_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/codegen/switched.h"
#include "tests/runtime/everything.h"
#include "tests/semantics/machines.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using test::all_ops;
using test::all_types;
using test::wrong;

struct Example {
  Collective collective;
  PeerProgram program;
};

Example classic(const std::string& name, int ranks, int chunks = 1, const PeerOptions& options = {}) {
  const Topology topology = named_topology("full:" + std::to_string(ranks));
  const Point point = classic_algorithm(name, topology, {.chunks = chunks});
  return {point.collective,
          to_peers(point.collective, lower(topology, point.collective, point.schedule), options)};
}

// ThreadSanitizer takes most of its time for many ranks, whose threads do what those of few do.
#ifdef __SANITIZE_THREAD__
const std::vector<int> kRanks = {2, 3, 4};
#else
const std::vector<int> kRanks = {2, 3, 5, 8, 16};
#endif

TEST(PeerExecutorLong, EveryBaselineOfTwoToSixteenRanks) {
  const RunOptions options{.bytes = {0, 4, 4 * 37},
                           .types = {ElementType::Int32},
                           .ops = {ReduceOp::Sum},
                           .iterations = 1,
                           .warm_up = 0};
  const auto check = [&](const Topology& topology, const Point& point) {
    const PeerProgram peers = to_peers(point.collective, lower(topology, point.collective, point.schedule));
    EXPECT_EQ(wrong(run_peers_on_threads(peers, point.collective, options)), 0)
        << topology.name << " " << peers.name;
  };
  EXPECT_GT(test::for_each_baseline(check, kRanks), 14 * std::ssize(kRanks));
}

TEST(PeerExecutor, EveryTypeAndOperation) {
  for (const char* name : {"ring_allreduce", "ring_reducescatter", "ring_allgather"}) {
    const Example example = classic(name, 3, 2);
    const RunOptions options{
        .bytes = {1, 8, 8 * 101}, .types = all_types, .ops = all_ops, .iterations = 1, .warm_up = 1};
    EXPECT_EQ(wrong(run_peers_on_threads(example.program, example.collective, options)), 0) << name;
  }
}

// Four operands are added at once, in their order: none is taken as its message comes.
TEST(PeerExecutor, SumsThatAreMadeAtOnce) {
  const Topology full = named_topology("full:4");
  Collective once = make_collective("allreduce", 4, 1);
  once.order = parse_sum_order("once", 4, "test");
  Schedule shot{.steps = {Step{}}};
  for (LinkId l = 0; l < std::ssize(full.links); ++l)
    shot.steps[0].sends.push_back({.chunk = 0, .link = l, .reduce = true});
  const PeerProgram peers = to_peers(once, lower(full, once, shot));
  EXPECT_EQ(wrong(run_peers_on_threads(peers, once, {.bytes = {4, 4 * 37}, .iterations = 1})), 0);
}

// Slices cut chunks of every length, threads share slices, and segments cut the message.
TEST(PeerExecutor, SlicesThreadsAndSegmentsDoNotShowInTheResult) {
  const Example example = classic("ring_allreduce", 3, 2);
  for (int slices : {1, 2, 3})
    for (int threads : {1, 2})
      for (std::int64_t segment : {0, 64, 1000}) {
        const RunOptions options{.bytes = {4, 100, 4 * 997}, .iterations = 2, .warm_up = 0};
        EXPECT_EQ(wrong(run_peers_on_threads(
                      example.program, example.collective, options,
                      {.slices = slices, .tile = 16, .threads = threads, .segment_bytes = segment})),
                  0)
            << slices << " " << threads << " " << segment;
      }
}

TEST(PeerExecutor, HalvesAddedAsFloats) {
  const Example example = classic("ring_allreduce", 4);
  const RunOptions options{.bytes = {2, 2 * 1001},
                           .types = {ElementType::Float16, ElementType::Bfloat16},
                           .ops = all_ops,
                           .iterations = 1,
                           .warm_up = 0,
                           .accumulation = Accumulation::Float32};
  EXPECT_EQ(wrong(run_peers_on_threads(example.program, example.collective, options)), 0);
}

TEST(PeerExecutor, InPlace) {
  const RunOptions options{
      .bytes = {0, 4, 4 * 37}, .types = {ElementType::Int32}, .iterations = 2, .warm_up = 0};
  const auto check = [&](const Topology& topology, const Point& point) {
    const Program program =
        in_place(topology, point.collective, lower(topology, point.collective, point.schedule));
    const PeerProgram peers = to_peers(point.collective, program);
    EXPECT_TRUE(peers.in_place);
    EXPECT_EQ(wrong(run_peers_on_threads(peers, point.collective, options)), 0)
        << point.construction << " " << topology.ranks;
    EXPECT_EQ(wrong_in_free_run(unverified(peers, point.collective), {.elements = 53}, ReduceOp::Sum, 5), 0)
        << point.construction;
  };
  const int programs = test::for_each_baseline(check, {2, 4, 5});
  EXPECT_GT(programs, 50);
}

// Sums and copies of switches, on a stand-in that adds in another order at each rank.
TEST(PeerExecutorSwitchesLong, OfTwoToSixteenRanks) {
  const RunOptions options{.bytes = {0, 4, 4 * 37},
                           .types = {ElementType::Float32, ElementType::Bfloat16},
                           .ops = {ReduceOp::Sum},
                           .iterations = 1,
                           .warm_up = 0};
  int by_switch = 0;
  for (const std::string& machine : test::able_machines) {
    const Topology topology = test::with_able_switches(machine);
#ifdef __SANITIZE_THREAD__
    if (topology.ranks > 4) continue;
#endif
    for (const char* kind : {"allreduce", "reducescatter", "allgather", "broadcast", "reduce"})
      for (const Verified<Schedule>& schedule :
           test::able_schedules(topology, kind, topology.ranks > 8 ? 1 : 3))
        for (const bool one_memory : {false, true}) {
          const Verified<PeerProgram> program = test::switched(schedule, one_memory);
          by_switch += !program->teams.empty();
          const int slices = topology.ranks > 8 ? 1 : 2;
          EXPECT_EQ(wrong(run_peers_on_threads(program, options, {.slices = slices, .tile = 16})), 0)
              << machine << " " << program->name;
          EXPECT_EQ(wrong_in_free_run(program, {.elements = 53}, ReduceOp::Sum, 5), 0)
              << machine << " " << program->name;
        }
  }
  EXPECT_GT(by_switch, 15);
}

TEST(PeerExecutorSwitchesLong, OfEveryTypeAndOperation) {
  for (const char* kind : {"allreduce", "reducescatter", "broadcast"}) {
    const Verified<PeerProgram> program =
        test::switched(test::able_schedules(test::with_able_switches("hub:3"), kind, 2).back());
    ASSERT_FALSE(program->teams.empty());
    RunOptions options{
        .bytes = {1, 8 * 101}, .types = all_types, .ops = all_ops, .iterations = 1, .warm_up = 0};
#ifdef __SANITIZE_THREAD__
    options.types = {ElementType::Float32, ElementType::Float16};
#endif
    EXPECT_EQ(wrong(run_peers_on_threads(program, options, {.slices = 2, .tile = 16, .threads = 2})), 0)
        << kind;
    options.types = {ElementType::Float16, ElementType::Bfloat16};
    options.accumulation = Accumulation::Float32;
    EXPECT_EQ(wrong(run_peers_on_threads(program, options, {.threads = 2, .segment_bytes = 64})), 0) << kind;
  }
}

// A sender may be a launch ahead; the root of a broadcast hears nothing from the others but that they are
// done.
TEST(PeerExecutor, LaunchesFollowEachOtherWithoutABarrier) {
  for (const char* name : {"ring_allreduce", "direct_allgather", "tree_broadcast", "direct_alltoall",
                           "tree_reduce", "recursive_doubling_allreduce"}) {
    const Example example = classic(name, 4);
    EXPECT_EQ(wrong_in_free_run(unverified(example.program, example.collective), {.elements = 301},
                                ReduceOp::Sum, 40, {.slices = 2, .tile = 16, .segment_bytes = 500}),
              0)
        << name;
  }
}

TEST(PeerExecutor, RandomSchedulesInAllForms) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    const Topology topology = seed % 2 ? test::ring(4) : test::full(4);
    const Collective collective = make_collective("allreduce", 4, 8);
    const Program program = lower(topology, collective, test::random_allreduce(topology, 2, random));
    const auto at_most_40 = [](const PeerProgram& lane) -> std::optional<Fault> {
      for (Rank n = 0; n < static_cast<int>(lane.ranks.size()); ++n)
        if (lane.ranks[n].blocks[0].instructions.size() > 40)
          return Fault{.kind = Fault::Kind::Limit, .place = {.rank = n}};
      return std::nullopt;
    };
    std::size_t most_blocks = 0;
    for (int chosen = static_cast<int>(seed) / 2 % 2; chosen < 16; chosen += 2) {  // two seeds have all
      PeerOptions options{.double_scratch = (chosen & 1) != 0,
                          .shared_counters = (chosen & 2) != 0,
                          .by_steps = (chosen & 4) != 0,
                          .most_blocks = 8};
      if (chosen & 8) options.excess = at_most_40;
      const PeerProgram peers = to_peers(collective, program, options);
      EXPECT_EQ(wrong_in_free_run(unverified(peers, collective), {.elements = 53}, ReduceOp::Sum, 5), 0)
          << "seed " << seed << ", options " << chosen;
      most_blocks = std::max(most_blocks, peers.ranks[0].blocks.size());
    }
    EXPECT_GT(most_blocks, 1u);
  }
}

#ifdef __SANITIZE_THREAD__
// Run by tests/scripts/kernel.cmake, which expects that ThreadSanitizer stops it: without Sync what
// the second thread of a block has stored is not covered by the signal of the first.
TEST(PeerExecutor, DISABLED_ARace) {
  Example example = classic("direct_allgather", 3);
  for (PeerRank& rank : example.program.ranks)
    std::erase_if(rank.blocks[0].instructions,
                  [](const PeerInstruction& i) { return i.opcode == PeerOpcode::Sync; });
  // Again and again: on a busy machine threads may for a while come in an order that hides it.
  for (int i = 0; i < 50; ++i)
    wrong_in_free_run(unverified(example.program, example.collective), {.elements = 1000}, ReduceOp::Sum, 100,
                      {.threads = 2});
}
#endif

TEST(PeerExecutor, AHangIsNamed) {
  // Rank 1 waits for rank 0, which waits for a third counter value that nobody ever reaches.
  Example example = classic("ring_allgather", 3);
  std::vector<PeerInstruction>& instructions = example.program.ranks[0].blocks[0].instructions;
  const auto wait = std::ranges::find_if(
      instructions, [](const PeerInstruction& i) { return i.opcode == PeerOpcode::Wait && i.lag == 0; });
  ASSERT_NE(wait, instructions.end());
  wait->value = 3;
  try {
    run_peers_on_threads(example.program, example.collective,
                         {.bytes = {4}, .iterations = 1, .timeout = std::chrono::milliseconds(300)});
    FAIL() << "did not hang";
  } catch (const Hang& hang) {
    EXPECT_THAT(hang.what(), ::testing::MatchesRegex("rank [0-2], block 0, instruction [0-9]+ \\(wait for "
                                                     "counter [0-9]+ to be [13]\\): rank [0-2] did not raise "
                                                     "it within 0.3 s"));
  }
}

}  // namespace
}  // namespace chorale
