// The plain formula against exhaustive search, and against the search's formulas where that takes too long.
#include "semantics/plain_formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "encoder/contribution_encoding.h"
#include "encoder/step_round_encoding.h"
#include "ir/frontier.h"
#include "semantics/verify.h"
#include "solvers/sat_solver.h"
#include "tests/encoder/brute_force.h"
#include "tests/kit/random.h"
#include "tests/kit/seeds.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

Assignment model_of(const SatSolver& solver, const Formula& formula) {
  Assignment model(formula.variables + 1);
  for (int v = 1; v <= formula.variables; ++v) model[v] = solver.value(v);
  return model;
}

// Where there is a model, the verifier has the last word on the schedule that it is.
Verdict ask(const Topology& t, const Collective& c, const Budget& budget, bool numbered) {
  const PlainFormula plain(t, c, budget, numbered);
  const auto solver = make_cadical();
  solver->add(plain.formula());
  const Verdict verdict = solver->solve({}, {});
  if (verdict == Verdict::Sat) {
    const Schedule schedule = plain.schedule(model_of(*solver, plain.formula()));
    EXPECT_THAT(violations(t, c, schedule), testing::IsEmpty());
    EXPECT_LE(static_cast<int>(schedule.steps.size()), budget.steps);
    EXPECT_LE(total_rounds(schedule), budget.rounds);
  }
  return verdict;
}

// Three foreign chunks reach each rank over two links: two rounds; the rank opposite is two hops away: two
// steps.
TEST(PlainFormula, RingOfFour) {
  for (const char* name : {"allgather", "allreduce", "reducescatter"}) {
    const Collective c = make_collective(name, 4, 1);
    EXPECT_EQ(ask(test::ring(4), c, {.steps = 1, .rounds = 4}, false), Verdict::Unsat) << name;
    EXPECT_EQ(ask(test::ring(4), c, {.steps = 2, .rounds = 1}, false), Verdict::Unsat) << name;
    EXPECT_EQ(ask(test::ring(4), c, {.steps = 2, .rounds = 2}, false), Verdict::Sat) << name;
    EXPECT_EQ(ask(test::ring(4), c, {.steps = 5, .rounds = 2}, false), Verdict::Sat)
        << name;  // fewer are enough
  }
}

// However many rounds: only the steps count. Through a rank that adds up, and takes apart nothing again.
TEST(PlainFormula, AnyNumberOfRounds) {
  const Collective c = make_collective("allreduce", 5, 1);
  EXPECT_EQ(ask(test::ring(5), c, {.steps = 2, .rounds = kAnyRounds}, false), Verdict::Unsat);
  EXPECT_EQ(ask(test::full(3), make_collective("allgather", 3, 4), {.steps = 1, .rounds = kAnyRounds}, false),
            Verdict::Sat);
}

struct Question {
  Topology topology = {};
  Collective collective = {};
};

// Whether a rank is reached is left to chance. Of several chunks, half the time two equal ones, so that numbering has
// something to do.
Question random_question(std::mt19937& random, int ranks, int links, int chunks, bool combining) {
  Question q{.topology = test::random_machine(random, {.least_ranks = ranks,
                                                       .most_ranks = ranks,
                                                       .joined = test::Machines::Joined::Nothing,
                                                       .least_links = links,
                                                       .most_links = links,
                                                       .widest = 2,
                                                       .most_limits = 1}),
             .collective = test::random_collective(
                 random, ranks,
                 {.names = {}, .combining = combining, .least_chunks = chunks, .most_chunks = chunks})};
  if (chunks > 1 && test::below(random, 2) == 0) q.collective.chunks[1] = q.collective.chunks[0];
  return q;
}

void agrees_with_exhaustive_search(bool combining, int chunks, int cases, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random = test::seeded(seed);
  int sat = 0, unsat = 0;
  for (int i = 0; i < cases; ++i) {
    const auto [t, c] = random_question(random, 3, 5, chunks, combining);
    BruteForce brute(t, c);
    for (int steps = 1; steps <= 3; ++steps)
      for (int rounds = 1; rounds <= 3; ++rounds) {
        const Budget budget{.steps = steps, .rounds = rounds};
        const Verdict known = brute.possible(budget) ? Verdict::Sat : Verdict::Unsat;
        ++(known == Verdict::Sat ? sat : unsat);
        for (bool numbered : {false, true})
          ASSERT_EQ(ask(t, c, budget, numbered), known)
              << "case " << i << ", " << steps << " steps, " << rounds << " rounds, " << numbered;
      }
  }
  EXPECT_GT(sat, 20);
  EXPECT_GT(unsat, 20);
}

TEST(PlainFormula, AgreesWithExhaustiveSearch) {
  agrees_with_exhaustive_search(false, 2, 40, 11);
  agrees_with_exhaustive_search(true, 1, 60, 12);
}

// Larger ones, against the search's formulas, which prune and order.
template <typename Encoding>
void agrees_with_the_search(bool combining, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random = test::seeded(seed);
  int sat = 0, unsat = 0;
  for (int i = 0; i < 40; ++i) {
    const auto [t, c] = random_question(random, 5, 13, 3, combining);
    for (int steps = 2; steps <= 4; ++steps) {
      const Budget budget{.steps = steps, .rounds = steps + i % 2};
      const Encoding encoding(t, c, budget);
      const auto solver = make_cadical();
      solver->add(encoding.formula());
      const Verdict theirs = solver->solve(encoding.assume(budget), {});
      ++(theirs == Verdict::Sat ? sat : unsat);
      for (bool numbered : {false, true})
        ASSERT_EQ(ask(t, c, budget, numbered), theirs) << "case " << i << ", " << steps << " steps";
    }
  }
  EXPECT_GT(sat, 5);
  EXPECT_GT(unsat, 20);
}

TEST(PlainFormula, AgreesWithTheSearch) {
  agrees_with_the_search<StepRoundEncoding>(false, 21);
  agrees_with_the_search<ContributionEncoding>(true, 22);
}

// What literals() states is within a factor of two of what there is, so that a limit on it means something.
TEST(PlainFormula, SaysHowLargeItIs) {
  for (const char* name : {"allgather", "reducescatter", "allreduce", "alltoall"}) {
    const Collective c = make_collective(name, 6, 2);
    const Budget budget{.steps = 4, .rounds = 7};
    const PlainFormula plain(test::hub(6), c, budget, false);
    const double is = static_cast<double>(plain.formula().literals.size());
    EXPECT_LT(is / 2, PlainFormula::literals(test::hub(6), c, budget)) << name;
    EXPECT_GT(is * 2, PlainFormula::literals(test::hub(6), c, budget)) << name;
  }
}

}  // namespace
}  // namespace chorale
