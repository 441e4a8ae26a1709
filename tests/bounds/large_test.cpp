// What makes bounds quick on large machines, on small ones: the short ways find what the flow programs find,
// and do little.
#include <gtest/gtest.h>

#include <random>

#include "bounds/colour_refinement.h"
#include "bounds/cuts.h"
#include "bounds/flow_lp.h"
#include "bounds/lower_bounds.h"
#include "bounds/price_search.h"
#include "bounds/timed_cuts.h"
#include "graph/max_flow.h"
#include "tests/bounds/machines.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

Topology random_ring(std::mt19937& random, bool ports) {
  return test::random_machine(random, {.least_ranks = 3,
                                       .joined = test::Machines::Joined::Ring,
                                       .most_links = 4,
                                       .parallel = false,
                                       .most_limits = 0,
                                       .ports = ports});
}

// All to rank 0, or all from there.
std::vector<ChunkClass> random_demands(const Topology& t, bool gathered, std::mt19937& random) {
  std::vector<ChunkClass> classes;
  for (Rank n = 1; n < t.ranks; ++n)
    classes.push_back({.pre = {gathered ? n : 0},
                       .post = {gathered ? 0 : n},
                       .chunks = std::vector<Chunk>(1 + random() % 4)});
  return classes;
}

Choice only_choice(const std::vector<ChunkClass>& classes) {
  Choice choice;
  for (const ChunkClass& c : classes) choice.push_back(c.post.front());
  return choice;
}

int rounds_of(const Topology& t, const std::vector<ChunkClass>& classes, std::vector<Prices> prices) {
  if (prices.empty()) return 0;
  const bool timed = prices.size() > 1;
  return rounds_shown(pay(t, classes, std::move(prices), timed, only_choice(classes))->bound);
}

TEST(TimedCuts, ShowAsManyRoundsAsTheFlowProgram) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_ring(random, seed % 4 < 2);
    if (!limits_are_ports(t)) continue;
    const std::vector<ChunkClass> classes = random_demands(t, seed % 2 == 0, random);
    const std::vector<Demand> all = demands(classes, only_choice(classes));
    const int steps = t.ranks / 2 + 1 + static_cast<int>(random() % 2);
    FlowProgram program(t, all, steps);
    program.build();
    const int rounds = rounds_of(t, classes, program.prices());
    long long work = 10'000'000;
    EXPECT_EQ(rounds_of(t, classes, timed_cut_prices(t, all, steps, 0, work)), rounds);
    // Whoever knows so much is told nothing new; whoever knows less is.
    EXPECT_TRUE(timed_cut_prices(t, all, steps, rounds, work).empty());
    EXPECT_EQ(rounds_of(t, classes, timed_cut_prices(t, all, steps, rounds - 1, work)), rounds);
    long long none = 0;
    EXPECT_TRUE(timed_cut_prices(t, all, steps, 0, none).empty());
  }
}

// 63 chunks reach rank 0 of a ring of 64 over two links: 32 rounds, and one a step is enough. Folded, the
// ring has 33 nodes and 32 layers of as many links per direction, and one flow shows it.
TEST(TimedCuts, OneFlowOnTheFoldedRing) {
  const Topology t = ring(64);
  std::vector<Demand> all;
  for (Rank n = 1; n < t.ranks; ++n) all.push_back({.from = {n}, .to = 0});
  long long work = 10'000'000;
  EXPECT_TRUE(timed_cut_prices(t, all, 32, 32, work).empty());
  EXPECT_LT(10'000'000 - work, 60'000);
}

// On machines where all links of a colour are an orbit, prices of colours are the best prices.
TEST(ColourPrices, AreTheBestOfSymmetricMachines) {
  for (const Topology& t :
       {ring(7), ring(8), hypercube(3), grid(4, 4, true), grid(3, 3, false), full(5), hub(6), dgx_a100(2)}) {
    SCOPED_TRACE(std::to_string(t.ranks) + " ranks, " + std::to_string(t.links.size()) + " links");
    const std::vector<ChunkClass> classes = wanted_classes(make_collective("alltoall", t.ranks, 1));
    FlowProgram program(t, demands(classes, only_choice(classes)), 0);
    program.build();
    const auto best = pay(t, classes, program.prices(), false, only_choice(classes))->bound;
    const auto found = pay(t, classes, colour_prices(t, classes), false, only_choice(classes))->bound;
    EXPECT_FALSE(stronger(best, found));
    EXPECT_FALSE(stronger(found, best));
  }
}

TEST(MachineColours, TellApartWhatMeetsOthers) {
  const std::vector<std::int64_t> equal(16, 0);
  const MachineColours torus = machine_colours(grid(4, 4, true), equal);
  EXPECT_EQ(torus.ranks, 1);
  EXPECT_EQ(torus.links, 1);
  // Corners, edges, inner ranks; links between them in each direction.
  const MachineColours mesh = machine_colours(grid(4, 4, false), equal);
  EXPECT_EQ(mesh.ranks, 3);
  EXPECT_EQ(mesh.links, 6);
  // Seen from one rank of a ring of six: itself, two neighbours, two at distance two, one opposite.
  const MachineColours seen = machine_colours(ring(6), {1, 0, 0, 0, 0, 0});
  EXPECT_EQ(seen.ranks, 4);
  EXPECT_EQ(seen.rank[1], seen.rank[5]);
  EXPECT_NE(seen.rank[1], seen.rank[2]);
  // In and out of a node's switch, and of the network.
  const MachineColours nodes = machine_colours(dgx_a100(2), equal);
  EXPECT_EQ(nodes.ranks, 1);
  EXPECT_EQ(nodes.links, 2);
  EXPECT_EQ(nodes.limits, 4);
}

// 255 sources at up to 16 links, four links into the sink: levels from the source would make 16 phases of all
// arcs.
TEST(MaxFlow, ManySourcesTakeFewPhases) {
  const Topology t = grid(16, 16, true);
  MaxFlow flow(t.ranks + 1);
  for (const Link& link : t.links) flow.add_arc(link.src, link.dst, 255);
  for (Rank n = 1; n < t.ranks; ++n) flow.add_arc(t.ranks, n, 4);
  EXPECT_EQ(flow.run(t.ranks, 0), 4 * 255);
  EXPECT_LT(flow.work(), 8 * 2 * static_cast<long long>(t.links.size() + t.ranks));
}

// One object answers what the functions answer.
TEST(LowerBounds, AnswerOneAfterTheOther) {
  const Topology t = hub(5);
  for (const char* name : {"allgather", "broadcast", "allreduce", "reducescatter"}) {
    SCOPED_TRACE(name);
    const Collective c = make_collective(name, t.ranks, 2);
    LowerBounds bounds(t, c);
    for (int steps : {4, 2, 1, 0}) {
      EXPECT_EQ(bounds.fewest_rounds_in(steps).rounds, fewest_rounds_in(t, c, steps).rounds);
      EXPECT_EQ(bounds.fewest_rounds().rounds, fewest_rounds(t, c).rounds);
    }
    EXPECT_EQ(bounds.fewest_steps().steps, fewest_steps(t, c).steps);
  }
}

// Seconds where there was no answer in a minute; here they are not measured, but there are many ranks.
TEST(LowerBounds, OfLargeMachines) {
  const Topology t = ring(256);
  const Collective allgather = make_collective("allgather", t.ranks, 1);
  LowerBounds bounds(t, allgather);
  EXPECT_EQ(bounds.fewest_steps().steps, 128);
  EXPECT_EQ(bounds.fewest_rounds().rounds, 128);
  EXPECT_EQ(bounds.fewest_rounds_in(128).rounds, 128);
  // 8 ranks of a node hear of 31 others over links of 1: 31 rounds, and one more, since what comes in the
  // last is still to be handed on. In two steps that is more than one.
  const Topology nodes = dgx_a100(32);
  EXPECT_EQ(fewest_rounds(nodes, make_collective("allgather", nodes.ranks, 1)).rounds, 32);
  EXPECT_EQ(fewest_rounds_in(nodes, make_collective("allgather", nodes.ranks, 1), 2).rounds, 46);
  EXPECT_EQ(fewest_rounds(nodes, make_collective("alltoall", nodes.ranks, 1)).rounds, 248);
}

// Any cut is a bound, so these are never above the flow program; on a mesh, whose middle is the narrowest
// place, they are as good: 8 times 8 over 4 links.
TEST(HalfCuts, AreNeverAboveTheFlowProgram) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_ring(random, seed % 4 < 2);
    const std::vector<ChunkClass> classes = random_demands(t, seed % 2 == 0, random);
    const std::optional<Prices> half = tightest_half_cut(t, classes);
    EXPECT_EQ(half.has_value(), t.limits.empty());
    if (!half) continue;
    EXPECT_LE(rounds_of(t, classes, {*half}), rounds_shown(*price_bound(t, classes)));
  }
}

TEST(HalfCuts, AcrossTheMiddleOfAMesh) {
  Topology t{.name = "mesh", .ranks = 16};
  for (Rank n = 0; n < 16; ++n) {
    if (n % 4 < 3) add_both_ways(t, n, n + 1);
    if (n < 12) add_both_ways(t, n, n + 4);
  }
  const std::vector<ChunkClass> classes = wanted_classes(make_collective("alltoall", 16, 1));
  const std::optional<Prices> half = tightest_half_cut(t, classes);
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(rounds_of(t, classes, {*half}), 16);
}

}  // namespace
}  // namespace chorale
