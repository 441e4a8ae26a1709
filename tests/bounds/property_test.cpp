// Bounds against exhaustive search on tiny random machines: nothing below a bound exists. The search shares
// only the types.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "ir/error.h"
#include "tests/encoder/brute_force.h"
#include "tests/kit/random.h"
#include "tests/kit/seeds.h"

namespace chorale {
namespace {

// Small enough for exhaustive search; whether a rank is reached is left to chance.
Topology tiny_machine(std::mt19937& random, int most_ranks = 4) {
  return test::random_machine(random, {.least_ranks = 3,
                                       .most_ranks = most_ranks,
                                       .joined = test::Machines::Joined::Nothing,
                                       .least_links = 6,
                                       .most_links = 6,
                                       .widest = 2,
                                       .most_limits = 2});
}

Collective tiny_collective(std::mt19937& random, int ranks, int chunks, bool combining) {
  return test::random_collective(
      random, ranks, {.names = {}, .combining = combining, .least_chunks = chunks, .most_chunks = chunks});
}

// Number of tight bounds: the property would also hold if all bounds were 0.
struct Tally {
  int asked = 0;
  int met = 0;
};

void hold(const Topology& t, const Collective& c, Tally& tally) {
  StepBound steps;
  try {
    steps = fewest_steps(t, c);
  } catch (const InputError&) {
    return;  // disconnected
  }
  if (steps.steps == 0) return;
  BruteForce search(t, c);
  EXPECT_FALSE(search.possible({.steps = steps.steps - 1, .rounds = 12}));
  EXPECT_EQ(fault(t, c, steps.claim), std::nullopt);
  const Claim any = fewest_rounds(t, c);
  EXPECT_EQ(fault(t, c, any), std::nullopt);
  // No schedule has more steps than rounds.
  EXPECT_FALSE(search.possible({.steps = any.rounds - 1, .rounds = any.rounds - 1}));
  for (int s = steps.steps; s < steps.steps + 2; ++s) {
    const Claim claim = fewest_rounds_in(t, c, s);
    EXPECT_EQ(fault(t, c, claim), std::nullopt);
    EXPECT_GE(claim.rounds, any.rounds);
    EXPECT_FALSE(search.possible({.steps = s, .rounds = claim.rounds - 1})) << s << " steps";
    ++tally.asked;
    if (search.possible({.steps = s, .rounds = std::max(s, claim.rounds)})) ++tally.met;
    // One more than the certificate shows is refused.
    Claim more = claim;
    ++more.rounds;
    EXPECT_NE(fault(t, c, more), std::nullopt);
  }
}

struct Row {
  const char* name;
  std::vector<Collective> (*make)(std::mt19937&, int ranks);
  int most_ranks;
  unsigned cases;
  int least_asked;  // of bounds
};

std::vector<Collective> each_named(std::mt19937& random, int ranks) {
  std::vector<Collective> all;
  for (const std::string name : {"broadcast", "scatter", "gather", "allgather", "reduce", "allreduce"})
    all.push_back(make_collective(name, ranks, 1, test::below(random, ranks)));
  return all;
}

const Row kRows[] = {
    {"copies", [](auto& random, int ranks) { return std::vector{tiny_collective(random, ranks, 2, false)}; },
     4, 400, 50},
    {"sums", [](auto& random, int ranks) { return std::vector{tiny_collective(random, ranks, 1, true)}; }, 4,
     200, 30},
    {"named", each_named, 3, 40, 100}};

TEST(BoundsHold, OnRandomMachines) {
  for (const Row& row : kRows) {
    Tally tally;
    for (unsigned seed = 0; seed < row.cases; ++seed) {
      SCOPED_TRACE(row.name + (" seed " + std::to_string(seed)));
      std::mt19937 random = test::seeded((row.make == each_named ? 1000 : 0) + seed);
      const Topology t = tiny_machine(random, row.most_ranks);
      for (const Collective& c : row.make(random, t.ranks)) hold(t, c, tally);
    }
    // Most are met, or the bounds have become weak.
    EXPECT_GT(tally.asked, row.least_asked) << row.name;
    EXPECT_GT(tally.met * 100, tally.asked * 95) << row.name;
  }
}

// Of chunks of one class, cuts packed or not: no schedule of some chunks is below the rate of any number of
// them.
TEST(BoundsHold, RatesOfFewSteps) {
  int asked = 0, met = 0, by_cuts = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random = test::seeded(2000 + seed);
    const Topology t = tiny_machine(random);
    const bool sum = seed % 2 == 0;
    Collective c = tiny_collective(random, t.ranks, 1, sum);
    if (!sum && seed % 4 == 1) c.chunks.push_back(c.chunks.front());
    LowerBounds bounds(t, c);
    try {
      if (bounds.fewest_steps().steps == 0) continue;
    } catch (const InputError&) {
      continue;  // disconnected
    }
    BruteForce search(t, c);
    const int fewest = bounds.fewest_steps().steps;
    for (int s = fewest; s < fewest + 2; ++s) {
      const Claim claim = bounds.highest_rate_in(s, {.rounds = 100}, 10'000'000);
      ASSERT_TRUE(claim.any_chunks);
      EXPECT_EQ(fault(t, c, claim), std::nullopt);
      const int rounds = (claim.rounds + claim.chunks - 1) / claim.chunks;
      EXPECT_FALSE(search.possible({.steps = s, .rounds = rounds - 1})) << s << " steps";
      ++asked;
      if (search.possible({.steps = s, .rounds = std::max(s, rounds)})) ++met;
      Claim more = claim;
      ++more.rounds;
      if (claim.certificate.kind != Certificate::Kind::Cuts) continue;
      ++by_cuts;
      EXPECT_NE(fault(t, c, more), std::nullopt);
    }
  }
  EXPECT_GT(asked, 100);
  EXPECT_GT(met * 100, asked * 90);
  EXPECT_GT(by_cuts, 10);
}

}  // namespace
}  // namespace chorale
