// Bounds that can be worked out by hand; the comment of each reports how.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "ir/error.h"
#include "tests/bounds/machines.h"
#include "tests/kit/refusal.h"

namespace chorale {
namespace {

// "7/6": rounds per chunk, for any number of steps and chunks.
std::string rate(const Topology& t, const std::string& name, int chunks = 1) {
  const Collective c = make_collective(name, t.ranks, chunks);
  const Claim claim = fewest_rounds(t, c);
  EXPECT_EQ(fault(t, c, claim), std::nullopt);
  EXPECT_EQ(claim.steps, kAnySteps);
  const Rate r = rate_shown(t, c, claim.certificate);
  // The claim is the rate times the chunks, rounded up; a round more where the last entries must still be
  // spread.
  const int more = claim.certificate.kind == Certificate::Kind::Entries ? 1 : 0;
  EXPECT_EQ(claim.rounds, (r.rounds * chunks + r.chunks - 1) / r.chunks + more);
  return std::to_string(r.rounds) + "/" + std::to_string(r.chunks);
}

int rounds(const Topology& t, const std::string& name, int chunks, int steps) {
  const Collective c = make_collective(name, t.ranks, chunks);
  const Claim claim = fewest_rounds_in(t, c, steps);
  EXPECT_EQ(fault(t, c, claim), std::nullopt);
  return claim.rounds;
}

TEST(KnownRates, Dgx1) {
  const Topology t = dgx1();
  // Seven foreign chunks enter each rank over two double and two single links: SCCL's 7/6.
  EXPECT_EQ(rate(t, "allgather"), "7/6");
  EXPECT_EQ(rate(t, "reducescatter"), "7/6");
  EXPECT_EQ(rate(t, "gather"), "7/6");
  EXPECT_EQ(rate(t, "scatter"), "7/6");
  // Each chunk enters each rank once, over six.
  EXPECT_EQ(rate(t, "broadcast"), "1/6");
  EXPECT_EQ(rate(t, "reduce"), "1/6");
  // Singletons: 2 * 7 crossings a chunk; eight double and eight single edges carry 48 in both directions.
  EXPECT_EQ(rate(t, "allreduce"), "7/24");
  // The rate is the same for every number of chunks.
  EXPECT_EQ(rate(t, "allgather", 6), "7/6");
}

TEST(KnownRates, RingsAndLines) {
  // n-1 foreign chunks enter over two links.
  EXPECT_EQ(rate(ring(4), "allgather"), "3/2");
  EXPECT_EQ(rate(ring(8), "allgather"), "7/2");
  // An end of the line has one link.
  EXPECT_EQ(rate(line(4), "allgather"), "3/1");
  // 8 * (1+1+2+2+3+3+4) hops over 16 links.
  EXPECT_EQ(rate(ring(8), "alltoall"), "8/1");
  // The middle link of the line: 2 * 2 chunks per direction.
  EXPECT_EQ(rate(line(4), "alltoall"), "4/1");
  // A cut at the line's end: the chunk has to leave rank 0, or come back to it.
  EXPECT_EQ(rate(line(4), "allreduce"), "1/1");
  // 2 * 7 crossings over 16 links.
  EXPECT_EQ(rate(ring(8), "allreduce"), "7/8");
}

TEST(KnownRates, FullyConnected) {
  EXPECT_EQ(rate(full(8), "allgather"), "1/1");
  EXPECT_EQ(rate(full(8), "alltoall"), "1/1");
  // 2 * 7 crossings over 56 links; with the 8k chunks of a ReduceScatter and an Allgather 2k, which those
  // meet.
  EXPECT_EQ(rate(full(8), "allreduce"), "1/4");
}

TEST(KnownRates, Hypercube) {
  // 8 * (3*1 + 3*2 + 1*3) hops over 24 links.
  EXPECT_EQ(rate(hypercube(3), "alltoall"), "4/1");
  EXPECT_EQ(rate(hypercube(3), "allgather"), "7/3");
  EXPECT_EQ(rate(hypercube(3), "broadcast"), "1/3");
}

TEST(KnownRates, Meshes) {
  // Singletons: 2 * 15 crossings over 48 links. Twice half the Allgather's 15/2 * 1/16 would be 15/16, 1.5
  // times as much.
  EXPECT_EQ(rate(grid(4, 4, false), "allreduce"), "5/8");
  EXPECT_EQ(rate(grid(4, 4, false), "allgather"), "15/2");
  EXPECT_EQ(rate(grid(4, 4, false), "alltoall"), "16/1");  // 64 chunks over the middle's four links
}

TEST(KnownRates, SharedLimits) {
  // One chunk enters a rank in a round, whatever its 15 links could do.
  EXPECT_EQ(rate(hub(16), "allgather"), "15/1");
  EXPECT_EQ(rate(hub(16), "alltoall"), "15/1");
  EXPECT_EQ(rate(hub(16), "gather"), "15/1");
  EXPECT_EQ(rate(hub(16), "scatter"), "15/1");
  EXPECT_EQ(rate(hub(16), "broadcast"), "1/1");
  // 2 * 15 crossings, 16 leave their ranks in a round.
  EXPECT_EQ(rate(hub(16), "allreduce"), "15/8");
  // 8 * (n-1) foreign chunks enter a node over its 8 NICs. Inside, (8n - 1) / 13 is less.
  EXPECT_EQ(rate(dgx_a100(2), "allgather"), "15/13");
  EXPECT_EQ(rate(dgx_a100(4), "allgather"), "3/1");
  // 8 * 8 * 3 chunks leave a node over 8 NICs.
  EXPECT_EQ(rate(dgx_a100(4), "alltoall"), "24/1");
  // Nodes: 2 * 3 crossings over 4 * 8 NICs.
  EXPECT_EQ(rate(dgx_a100(4), "allreduce"), "3/16");
}

TEST(KnownRates, OneBusForAll) {
  // All links together carry one chunk per round, and every chunk has to be heard by two others. No cut sees
  // that a chunk needs two sends; the partition into ranks does.
  Topology t = full(3);
  t.limits.push_back({.name = "bus", .links = {0, 1, 2, 3, 4, 5}, .bandwidth = 1});
  EXPECT_EQ(rate(t, "allgather"), "6/1");
  EXPECT_EQ(rate(t, "reducescatter"), "6/1");
  EXPECT_EQ(rate(t, "allreduce"), "4/1");
  EXPECT_EQ(rate(t, "broadcast"), "2/1");
}

TEST(KnownRates, SixtyFourRanks) {
  EXPECT_EQ(rate(grid(8, 8, true), "allgather"), "63/4");
  EXPECT_EQ(rate(hypercube(6), "allgather"), "21/2");
  EXPECT_EQ(rate(dgx_a100(8), "allgather"), "7/1");
  // 64 * 4096 hops (an average of 4) over 256 links; 2048 hops per rank (6 * 32) over six.
  EXPECT_EQ(rate(grid(8, 8, true), "alltoall"), "64/1");
  EXPECT_EQ(rate(hypercube(6), "alltoall"), "32/1");
  EXPECT_EQ(rate(dgx_a100(8), "alltoall"), "56/1");
}

TEST(KnownRates, CustomGroups) {
  // Two groups on one line, each sharing its chunks among itself: 0,1 and 2,3 of 0-1-2-3 swap a chunk, then
  // 0,3 and 1,2 do.
  Collective c{.custom_name = "groups", .ranks = 4};
  const auto chunk = [&](Rank from, Rank to) { c.chunks.push_back({.pre = {from}, .post = {to}}); };
  chunk(0, 1), chunk(1, 0), chunk(2, 3), chunk(3, 2);
  EXPECT_EQ(fewest_rounds(line(4), c).rounds, 1);
  c.chunks.clear();
  chunk(0, 3), chunk(3, 0), chunk(1, 2), chunk(2, 1);
  EXPECT_EQ(fewest_rounds(line(4), c).rounds, 2);  // two chunks per direction on the middle link
  // 0 has chunk 0, both 1 and 2 have chunk 1, and 3 needs both: nothing but 2 -> 3 leads there.
  c.chunks = {{.pre = {0}, .post = {3}}, {.pre = {1, 2}, .post = {3}}};
  EXPECT_EQ(fewest_rounds(line(4), c).rounds, 2);
  EXPECT_EQ(fewest_steps(line(4), c).steps, 3);
}

TEST(KnownTimed, BroadcastOnALine) {
  // In S steps S-2 waves pass the three links of line:4, one link behind the other: S rounds of C/(S-2)
  // chunks each.
  EXPECT_EQ(rounds(line(4), "broadcast", 12, 3), 36);
  EXPECT_EQ(rounds(line(4), "broadcast", 12, 4), 24);
  EXPECT_EQ(rounds(line(4), "broadcast", 12, 5), 20);
  EXPECT_EQ(rounds(line(4), "broadcast", 12, 6), 18);
  EXPECT_EQ(rounds(line(4), "reduce", 12, 5), 20);
}

TEST(KnownTimed, TwoStepsOnDgxA100) {
  // 24 chunks of other nodes come to the root. In step 1 (r rounds) its NIC and those of its seven neighbours
  // bring 8r; in step 2 (x rounds) only its own brings more, and the neighbours' 7r pass its port of 12x. 8r
  // + x >= 24 and 12x >= 7r make r + x >= 4.42; without a limit on steps it is 3.
  EXPECT_EQ(rounds(dgx_a100(4), "gather", 1, 2), 5);
  EXPECT_EQ(rounds(dgx_a100(4), "scatter", 1, 2), 5);
}

TEST(KnownTimed, FewestSteps) {
  EXPECT_EQ(fewest_steps(dgx1(), make_collective("allgather", 8, 1)).steps, 2);
  EXPECT_EQ(fewest_steps(line(4), make_collective("broadcast", 4, 1, 1)).steps, 2);
  EXPECT_EQ(fewest_steps(line(4), make_collective("allreduce", 4, 1)).steps, 3);
  EXPECT_EQ(fewest_steps(full(5), make_collective("alltoall", 5, 2)).steps, 1);
  // One-way ring: a contribution to the root takes three links, one from the root's successor.
  Topology one_way = no_links(4);
  for (int n = 0; n < 4; ++n) add_link(one_way, n, (n + 1) % 4);
  const Collective reduce = make_collective("reduce", 4, 1, 0);
  const StepBound bound = fewest_steps(one_way, reduce);
  EXPECT_EQ(bound.steps, 3);
  EXPECT_EQ(bound.claim.steps, 2);
  EXPECT_EQ(bound.claim.rounds, kNoSchedule);
  EXPECT_EQ(bound.claim.certificate.rank, 1);
  EXPECT_EQ(fault(one_way, reduce, bound.claim), std::nullopt);
}

TEST(KnownTimed, TooFewStepsIsAMatterOfDistance) {
  const Collective c = make_collective("allgather", 8, 1);
  const Claim claim = fewest_rounds_in(ring(8), c, 3);
  EXPECT_EQ(claim.certificate.kind, Certificate::Kind::Distance);
  EXPECT_EQ(claim.rounds, kNoSchedule);
  EXPECT_EQ(claim.steps, 3);
  EXPECT_EQ(fault(ring(8), c, claim), std::nullopt);
}

TEST(Degenerate, NothingToMove) {
  const Topology alone = no_links(1);
  for (const std::string& name : collective_names()) {
    const Collective c = make_collective(name, 1, 3);
    EXPECT_EQ(fewest_steps(alone, c).steps, 0) << name;
    EXPECT_EQ(fewest_rounds(alone, c).rounds, 0) << name;
    EXPECT_EQ(fewest_rounds_in(alone, c, 1).rounds, 0) << name;
  }
}

// What is stopped claims nothing, and what was found before stays.
TEST(Degenerate, StoppedClaimsNothingMore) {
  const Topology t = dgx1();
  for (const std::string& name : collective_names()) {
    const Collective c = make_collective(name, t.ranks, 2);
    std::atomic<bool> stop = false;
    LowerBounds before(t, c, &stop), after(t, c, &stop);
    const Claim found = before.fewest_rounds();
    stop = true;
    EXPECT_EQ(before.fewest_rounds(), found) << name;
    EXPECT_EQ(before.fewest_rounds_in(c.ranks), found) << name;
    EXPECT_GT(after.fewest_steps().steps, 0) << name;  // takes no time
    EXPECT_EQ(after.fewest_rounds().certificate.kind, Certificate::Kind::None) << name;
    EXPECT_EQ(after.fewest_rounds().rounds, 0) << name;
    EXPECT_EQ(after.fewest_rounds_in(c.ranks).rounds, 0) << name;
  }
}

TEST(Degenerate, DisconnectedIsTheUsersError) {
  Topology t = no_links(4);
  add_both_ways(t, 0, 1);
  add_both_ways(t, 2, 3);
  for (const std::string& name : collective_names()) {
    const Collective c = make_collective(name, 4, 1);
    EXPECT_THROW(fewest_steps(t, c), InputError) << name;
    EXPECT_THROW(fewest_rounds(t, c), InputError) << name;
    EXPECT_THROW(fewest_rounds_in(t, c, 5), InputError) << name;
  }
  EXPECT_THAT(test::refusal_of([&] { fewest_steps(t, make_collective("broadcast", 4, 1, 3)); }),
              testing::HasSubstr("no path from rank 3 to rank 0"));
  // What stays on one side has its bounds.
  Collective inside{.custom_name = "inside", .ranks = 4, .chunks = {{.pre = {2}, .post = {3}}}};
  EXPECT_EQ(fewest_rounds(t, inside).rounds, 1);
}

// A flow through as many layers overflowed the stack.
TEST(KnownTimed, ManyStepsAreAsGoodAsAnyNumber) {
  EXPECT_EQ(rounds(ring(4), "allgather", 1, 100'000),
            fewest_rounds(ring(4), make_collective("allgather", 4, 1)).rounds);
}

}  // namespace
}  // namespace chorale
