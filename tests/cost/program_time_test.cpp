// Times that can be worked out by hand.
#include "cost/program_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "codegen/passes/lower.h"
#include "codegen/passes/relax.h"
#include "construct/classic.h"
#include "cost/cost.h"
#include "ir/error.h"
#include "tests/codegen/schedules.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using ::testing::HasSubstr;

constexpr double kAlpha = 1.0, kBeta = 4e-5;  // of the links in machines.h
constexpr double kBytes = 1e6;                // of a block: 40 us over a link

PeerInstruction move(const DataPlace& from, const DataPlace& to) {
  return {.opcode = PeerOpcode::Move, .does = {.from = {from}, .to = {to}}};
}
PeerInstruction raise(Rank rank, int counter) {
  return {.opcode = PeerOpcode::Signal, .rank = rank, .counter = counter};
}
PeerInstruction wait(int counter) {
  return {.opcode = PeerOpcode::Wait, .counter = counter};
}
DataPlace scratch(Rank n, int i) {
  return {{Buffer::Scratch, i}, n};
}

// n - 1 messages one after the other on each link, each a step of its own.
TEST(ProgramTime, a_ring_allgather_takes_a_step_a_hop) {
  for (int n : {2, 3, 4, 8}) {
    const Topology ring = test::ring(n);
    const Collective collective = make_collective("allgather", n, 1);
    const BlockProgram program = relax(collective, lower(ring, collective, test::ring_allgather(n, 1)));
    const ProgramTime time = program_time(program, ring, kBytes, 2);
    EXPECT_NEAR(time.us, (n - 1) * (kAlpha + kBeta * kBytes), 1e-9) << n;
    EXPECT_NEAR(time.busiest_us, (n - 1) * kBeta * kBytes, 1e-9) << n;
  }
}

// The same where ranks wait for an epoch's messages. With one link of half the rate, each of its messages takes twice as
// long, one after the other, and alpha is paid at the end alone: the rank that sends goes on when its data have left. By the
// worst link alone every step would take twice as long, and alpha.
TEST(ProgramTime, epochs_take_what_their_own_links_take) {
  for (int n : {3, 4, 8}) {
    Topology ring = test::ring(n);
    const Collective collective = make_collective("allgather", n, 1);
    const Program program = lower(ring, collective, test::ring_allgather(n, 1));
    const ProgramTime time = program_time(program, ring, kBytes);
    EXPECT_NEAR(time.us, (n - 1) * (kAlpha + kBeta * kBytes), 1e-9) << n;
    EXPECT_NEAR(time.busiest_us, (n - 1) * kBeta * kBytes, 1e-9) << n;
    EXPECT_NEAR(program_time(program, ring, 0).us, (n - 1) * kAlpha, 1e-9) << n;
    for (Link& link : ring.links)
      if (link.src == 0 && link.dst == 1) link.beta_us_per_byte *= 2;
    const ProgramTime slower = program_time(program, ring, kBytes);
    EXPECT_NEAR(slower.us, (n - 1) * 2 * kBeta * kBytes + kAlpha, 1e-9) << n;
    EXPECT_EQ(slower.busiest, "link 0 -> 1") << n;
  }
}

// Links of different rates and latencies, some in limits: a schedule takes what the program does that it is lowered to.
TEST(ScheduleTime, IsThatOfItsProgram) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> factor(0.2, 5);
  for (int i = 0; i < 40; ++i) {
    Topology full = test::full(2 + i % 5);
    for (Link& link : full.links) {
      link.alpha_us *= factor(random);
      link.beta_us_per_byte *= factor(random);
      link.bandwidth = 1 + static_cast<int>(random() % 3);
    }
    if (i % 2 == 0 && full.links.size() > 2)
      full.limits.push_back({.name = "some", .links = {0, 1}, .bandwidth = 1});
    for (const char* name : {"ring_allreduce", "direct_allgather", "binomial_broadcast", "direct_alltoall"}) {
      const Point point = classic_algorithm(name, full);
      const Program program = lower(full, point.collective, point.schedule);
      for (const double bytes : {0.0, 1000.0, 1e7}) {
        const ProgramTime time = schedule_time(point.schedule, full, point.cost.chunks, bytes);
        EXPECT_EQ(time.us, program_time(program, full, bytes).us) << name;
        EXPECT_EQ(time.us, point_us(full, point, bytes)) << name;
      }
    }
  }
}

// Where all links are alike it is the formula that prices a point, as tables do.
TEST(PointTime, OfLinksThatAreAlikeIsTheFormulas) {
  const Topology ring = test::ring(5);
  const Point point = classic_algorithm("ring_allgather", ring);
  EXPECT_DOUBLE_EQ(point_us(ring, point, kBytes), time_us(point.cost, ring, kBytes));
}

// k pieces through a line of n ranks: the first takes n - 1 hops, the others leave the last link right after
// it.
TEST(ProgramTime, pieces_overlap_in_a_pipeline) {
  const int n = 4, k = 5;
  BlockProgram program{.name = "line", .collective = CollectiveKind::Broadcast, .chunks_per_block = k};
  for (Rank r = 0; r < n; ++r) {
    Block block{.send_to = r + 1 < n ? r + 1 : -1, .recv_from = r - 1};
    for (int c = 0; c < k; ++c)
      block.instructions.push_back({.does = shaped(*shape_named(r == 0      ? "s"
                                                                : r + 1 < n ? "rcs"
                                                                            : "r"),
                                                   {Buffer::Input, c}, {Buffer::Output, c})});
    program.ranks.push_back({.input_chunks = r == 0 ? k : 0, .output_chunks = k, .blocks = {block}});
  }
  const double piece = kBeta * kBytes / k;
  EXPECT_NEAR(program_time(program, test::ring(n), kBytes, 2).us,
              (n - 1) * (kAlpha + piece) + (k - 1) * piece, 1e-9);
}

// All others put a block into rank 0 at once. With links of their own they take one time; through a port for
// one at a time, three.
TEST(ProgramTime, shared_limits_are_shared) {
  PeerProgram program{.name = "gather", .collective = CollectiveKind::Gather};
  for (Rank n = 0; n < 4; ++n) {
    PeerBlock block;
    if (n == 0)
      block.instructions = {wait(1), wait(2), wait(3)};
    else
      block.instructions = {move({{Buffer::Input, 0}, n}, {{Buffer::Output, n}, 0}), {}, raise(0, n)};
    program.ranks.push_back(
        {.input_chunks = 1, .output_chunks = n == 0 ? 4 : 0, .counters = 4, .blocks = {block}});
  }
  const ProgramTime alone = program_time(program, test::full(4), kBytes);
  EXPECT_NEAR(alone.us, kAlpha + kBeta * kBytes, 1e-9);
  const ProgramTime shared = program_time(program, test::hub(4), kBytes);
  EXPECT_NEAR(shared.us, kAlpha + 3 * kBeta * kBytes, 1e-9);
  EXPECT_NEAR(shared.busiest_us, 3 * kBeta * kBytes, 1e-9);
  EXPECT_EQ(shared.busiest, "limit into 0");
}

// Block 1 sends when block 0 has sent its message, over another link: one after the other.
TEST(ProgramTime, barriers_are_waited_for) {
  const auto times = [](bool meet) {
    BlockProgram program{.name = "meet", .collective = CollectiveKind::Broadcast};
    program.ranks.resize(3, {.input_chunks = 1, .output_chunks = 1});
    const BlockInstruction send{.does = sending({})}, receive{.does = receiving({})}, barrier{.barrier = 7};
    program.ranks[0].blocks = {{.send_to = 1, .instructions = {send}},
                               {.send_to = 2, .instructions = {send}}};
    if (meet) {
      program.ranks[0].blocks[0].instructions.push_back(barrier);
      program.ranks[0].blocks[1].instructions.insert(program.ranks[0].blocks[1].instructions.begin(),
                                                     barrier);
    }
    for (Rank n : {1, 2}) program.ranks[n].blocks = {{.recv_from = 0, .instructions = {receive}}};
    return program_time(program, test::full(3), kBytes, 1).us;
  };
  EXPECT_NEAR(times(false), kAlpha + kBeta * kBytes, 1e-9);
  EXPECT_NEAR(times(true), kAlpha + 2 * kBeta * kBytes, 1e-9);
}

// A link of bandwidth 2 takes half the time; two links side by side carry two messages at once.
TEST(ProgramTime, bandwidth_and_parallel_links) {
  PeerProgram program{.name = "twice", .collective = CollectiveKind::Broadcast};
  program.ranks = {
      {.input_chunks = 1, .output_chunks = 1, .blocks = {{}, {}}},
      {.output_chunks = 1, .scratch_chunks = 2, .counters = 2, .blocks = {{{wait(0), wait(1)}}}}};
  for (int b : {0, 1})
    program.ranks[0].blocks[b].instructions = {move({{Buffer::Input, 0}, 0}, scratch(1, b)), {}, raise(1, b)};
  Topology pair = test::full(2);
  EXPECT_NEAR(program_time(program, pair, kBytes).us, kAlpha + 2 * kBeta * kBytes, 1e-9);
  pair.links[0].bandwidth = 2;
  EXPECT_NEAR(program_time(program, pair, kBytes).us, kAlpha + kBeta * kBytes, 1e-9);
  pair.links[0].bandwidth = 1;
  pair.links.push_back(pair.links[0]);
  EXPECT_NEAR(program_time(program, pair, kBytes).us, kAlpha + kBeta * kBytes, 1e-9);
}

// A load is there alpha after its data have left the other; then the block goes on. A signal takes alpha.
TEST(ProgramTime, loads_and_signals_have_latencies) {
  PeerProgram program{.name = "pull", .collective = CollectiveKind::Broadcast};
  program.ranks = {
      {.input_chunks = 1, .output_chunks = 1, .counters = 1, .blocks = {{{raise(1, 0), wait(0)}}}},
      {.output_chunks = 1,
       .counters = 1,
       .blocks = {
           {{wait(0), {}, move({{Buffer::Input, 0}, 0}, {{Buffer::Output, 0}, 1}), {}, raise(0, 0)}}}}};
  EXPECT_NEAR(program_time(program, test::full(2), kBytes).us, kAlpha + (kBeta * kBytes + kAlpha) + kAlpha,
              1e-9);
}

TEST(ProgramTime, links_that_are_not_there_are_named) {
  PeerProgram program{.name = "far", .collective = CollectiveKind::Broadcast};
  program.ranks.resize(4, {.scratch_chunks = 1});
  program.ranks[0].blocks = {{{move(scratch(0, 0), scratch(2, 0))}}};
  const auto problem = [&](const Topology& topology) {
    try {
      program_time(program, topology, kBytes);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(problem(test::ring(4)), HasSubstr("no link from rank 0 to rank 2"));
  EXPECT_THAT(problem(test::ring(5)), HasSubstr("has 5 ranks, the program 4"));
  EXPECT_EQ(problem(test::full(4)), "");
}

}  // namespace
}  // namespace chorale
