// Bounds on tiny machines against all schedules that there are: nothing below a bound exists, most are
// met, the checker accepts what is shown, and refuses a round more.
#include <gtest/gtest.h>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "ir/error.h"
#include "tests/kit/random.h"
#include "tests/kit/tiny.h"
#include "tests/property/suite.h"

namespace chorale {
namespace {

// Small enough to try all schedules; whether a rank is reached is left to chance.
Topology tiny_machine(std::mt19937& random, int most_ranks) {
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

Collective tiny_named(std::mt19937& random, int ranks) {
  const char* const names[] = {"broadcast", "scatter", "gather", "allgather", "reduce", "allreduce"};
  const char* const name = names[test::below(random, 6)];
  return make_collective(name, ranks, 1, test::below(random, ranks));
}

// Of one class, once or twice.
Collective tiny_class(std::mt19937& random, int ranks) {
  const int kind = test::below(random, 4);
  Collective c = tiny_collective(random, ranks, 1, kind % 2 == 0);
  if (kind == 1) c.chunks.push_back(c.chunks.front());
  return c;
}

// Bounds hold for sums in any order.
test::Possible schedules(const Topology& t, Collective c, int most_steps) {
  c.order.kind = SumOrder::Kind::Free;
  return {t, c, most_steps};
}

// Number of tight bounds: the property would also hold if all bounds were 0.
struct Tally {
  int asked = 0, met = 0, by_cuts = 0;
};

void expect_shown(const Topology& t, const Collective& c, Claim claim) {
  EXPECT_EQ(fault(t, c, claim), std::nullopt);
  ++claim.rounds;
  EXPECT_NE(fault(t, c, claim), std::nullopt);
}

// Of these chunks: in few steps, and in any number of them.
void rounds_hold(const Topology& t, const Collective& c, Tally& tally) {
  const StepBound least = fewest_steps(t, c);
  const Claim any = fewest_rounds(t, c);
  const test::Possible possible = schedules(t, c, std::max(least.steps + 1, any.rounds));
  EXPECT_EQ(possible.rounds(least.steps - 1), test::exhaustive::kNever);
  EXPECT_EQ(fault(t, c, least.claim), std::nullopt);
  EXPECT_EQ(fault(t, c, any), std::nullopt);
  // No schedule has more steps than rounds.
  EXPECT_GE(possible.rounds(any.rounds - 1), any.rounds);
  for (int s = least.steps; s < least.steps + 2; ++s) {
    const Claim claim = fewest_rounds_in(t, c, s);
    expect_shown(t, c, claim);
    EXPECT_GE(claim.rounds, any.rounds);
    EXPECT_GE(possible.rounds(s), claim.rounds) << s << " steps";
    ++tally.asked;
    tally.met += possible.rounds(s) <= std::max(s, claim.rounds);
  }
}

// Of chunks of one class, cuts packed or not: no schedule of some chunks is below the rate of any number of
// them.
void rates_hold(const Topology& t, const Collective& c, Tally& tally) {
  LowerBounds bounds(t, c);
  const int fewest = bounds.fewest_steps().steps;
  const test::Possible possible = schedules(t, c, fewest + 1);
  for (int s = fewest; s < fewest + 2; ++s) {
    const Claim claim = bounds.highest_rate_in(s, {.rounds = 100}, 10'000'000);
    ASSERT_TRUE(claim.any_chunks);
    EXPECT_EQ(fault(t, c, claim), std::nullopt);
    const int rounds = (claim.rounds + claim.chunks - 1) / claim.chunks;
    EXPECT_GE(possible.rounds(s), rounds) << s << " steps";
    ++tally.asked;
    tally.met += possible.rounds(s) <= std::max(s, rounds);
    if (claim.certificate.kind != Certificate::Kind::Cuts) continue;
    ++tally.by_cuts;
    expect_shown(t, c, claim);
  }
}

struct Row {
  const char* maker;
  Collective (*make)(std::mt19937&, int ranks);
  int most_ranks;
  void (*holds)(const Topology&, const Collective&, Tally&);
  unsigned cases;
  int least_asked, met, by_cuts = -1;  // met: per cent of those that are asked
};

const Row kRows[] = {
    {"rounds of copies", [](auto& random, int ranks) { return tiny_collective(random, ranks, 2, false); }, 4,
     rounds_hold, 400, 50, 95},
    {"rounds of sums", [](auto& random, int ranks) { return tiny_collective(random, ranks, 1, true); }, 4,
     rounds_hold, 200, 30, 95},
    {"rounds of named ones", tiny_named, 3, rounds_hold, 240, 100, 95},
    {"rates of a class", tiny_class, 4, rates_hold, 600, 100, 90, 10},
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.maker;
}

class Claims : public ::testing::TestWithParam<Row> {};

TEST_P(Claims, Hold) {
  const Row& row = GetParam();
  Tally tally;
  test::each_case(row.maker, row.cases, [&](std::mt19937& random, unsigned) {
    const Topology t = tiny_machine(random, row.most_ranks);
    const Collective c = row.make(random, t.ranks);
    try {
      if (fewest_steps(t, c).steps == 0) return;
    } catch (const InputError&) {
      return;  // disconnected
    }
    row.holds(t, c, tally);
  });
  if (!test::counts()) return;
  EXPECT_GT(tally.asked, row.least_asked);
  EXPECT_GT(tally.met * 100, tally.asked * row.met) << tally.met << " of " << tally.asked;
  EXPECT_GT(tally.by_cuts, row.by_cuts);
}

INSTANTIATE_TEST_SUITE_P(Property, Claims, ::testing::ValuesIn(kRows), test::test_name<Row>);

}  // namespace
}  // namespace chorale
