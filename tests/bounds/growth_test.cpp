#include "bounds/growth.h"

#include <gtest/gtest.h>

#include <numeric>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "pareto/instance_solver.h"
#include "tests/semantics/machines.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using test::hub;

// One port full duplex, every round a step: C - 1 + ceil(log2 N) rounds (Bar-Noy and Kipnis 1992).
TEST(Growth, IsTheClassicalBoundWhereStepsAreFree) {
  for (int ranks : {2, 3, 4, 5, 8, 9, 16})
    for (int chunks = 1; chunks <= 3; ++chunks) {
      int log = 0;
      while ((1 << log) < ranks) ++log;
      const int rounds = chunks - 1 + log;
      const Collective broadcast = make_collective("broadcast", ranks, chunks);
      EXPECT_EQ(fewest_rounds_in(hub(ranks), broadcast, rounds).rounds, rounds)
          << ranks << " ranks, " << chunks << " chunks";
    }
}

// What counting all chunks together does not see: 3 chunks would fill 1+1+1+1+2 rounds to the last send, but
// the third chunk starts too late to get a third of them.
TEST(Growth, CountsEachChunk) {
  EXPECT_EQ(fewest_rounds_in(hub(16), make_collective("broadcast", 16, 3), 5).rounds, 7);
  EXPECT_EQ(fewest_rounds_in(hub(16), make_collective("broadcast", 16, 3), 6).rounds, 6);
}

// Against a solver that is told nothing of bounds.
TEST(Growth, NeverSaysMoreThanIsTrue) {
  int tight = 0, asked = 0;
  for (const char* machine : {"hub:3", "hub:4", "hub:5", "star:4", "line:3", "ring:4"})
    for (int chunks = 1; chunks <= 3; ++chunks)
      for (int steps = 1; steps <= 3; ++steps) {
        const Topology topology = named_topology(machine);
        const Collective broadcast = make_collective("broadcast", topology.ranks, chunks);
        const GrowthBound bound = growth_bound(topology, broadcast, steps);
        if (bound.rounds < 2) continue;
        const SynthesisOptions no_bounds{.limits = {.conflicts = 200'000}, .use_bounds = false};
        const Answer below =
            synthesize(topology, broadcast, {.steps = steps, .rounds = bound.rounds - 1}, no_bounds);
        EXPECT_EQ(below.verdict, Verdict::Unsat)
            << machine << " " << chunks << " chunks, " << steps << " steps";
        const Answer at =
            synthesize(topology, broadcast, {.steps = steps, .rounds = bound.rounds}, no_bounds);
        tight += at.verdict == Verdict::Sat;
        ++asked;
      }
  EXPECT_GT(asked, 30);
  EXPECT_GT(tight, 20);  // it states something, too
}

TEST(Growth, IsRefusedWhereItClaimsARoundMore) {
  for (int chunks = 1; chunks <= 4; ++chunks)
    for (int steps = 2; steps <= 5; ++steps) {
      const Collective broadcast = make_collective("broadcast", 16, chunks);
      Claim claim = fewest_rounds_in(hub(16), broadcast, steps);
      ASSERT_EQ(claim.certificate.kind, Certificate::Kind::Growth);
      EXPECT_EQ(fault(hub(16), broadcast, claim), std::nullopt);
      ++claim.rounds;
      EXPECT_NE(fault(hub(16), broadcast, claim), std::nullopt) << chunks << " chunks, " << steps << " steps";
      --claim.rounds;
      ++claim.steps;  // more steps than were looked at
      if (fewest_rounds_in(hub(16), broadcast, steps + 1).rounds < claim.rounds) {
        EXPECT_NE(fault(hub(16), broadcast, claim), std::nullopt);
      }
    }
}

TEST(Growth, SaysNothingOfSumsWithSeveralDestinations) {
  const Claim claim{.collective = CollectiveKind::AllReduce,
                    .chunks = 1,
                    .steps = 2,
                    .rounds = 2,
                    .certificate = {.kind = Certificate::Kind::Growth}};
  EXPECT_NE(fault(hub(4), make_collective("allreduce", 4, 1), claim), std::nullopt);
}

TEST(Growth, HoldsForReduceAsForItsDual) {
  EXPECT_EQ(fewest_rounds_in(hub(16), make_collective("reduce", 16, 3), 5).rounds, 7);
}

TEST(GrowthPlans, AddUpToTheBudgetAndTheGoal) {
  const Collective broadcast = make_collective("broadcast", 16, 4);
  const auto plans = growth_plans(hub(16), broadcast, {.steps = 4, .rounds = 8}, 20);
  ASSERT_FALSE(plans.empty());
  for (const GrowthPlan& plan : plans) {
    EXPECT_EQ(std::accumulate(plan.rounds.begin(), plan.rounds.end(), 0), 8);
    std::vector<int> copies(4, 0);
    for (const auto& step : plan.copies)
      for (std::size_t c = 0; c < step.size(); ++c) copies[c] += step[c];
    EXPECT_EQ(copies, std::vector<int>(4, 15));
  }
  EXPECT_TRUE(growth_plans(hub(16), broadcast, {.steps = 4, .rounds = 7}, 20).empty());
}

}  // namespace
}  // namespace chorale
