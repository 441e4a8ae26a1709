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

class RandomQuestions {
 public:
  explicit RandomQuestions(unsigned seed) : random_(seed) {}

  Topology topology(int ranks, int links) {
    Topology t{.name = "random", .ranks = ranks};
    while (static_cast<int>(t.links.size()) < links) {
      const Rank src = below(ranks), dst = below(ranks);
      if (src != dst) t.links.push_back({.src = src, .dst = dst, .bandwidth = 1 + (below(3) == 0)});
    }
    if (below(2) == 0) t.limits.push_back({.name = "nic", .links = {0, 1}, .bandwidth = 1});
    return t;
  }

  // Of two chunks, half the time equal ones, so that numbering has something to do.
  Collective collective(int ranks, int chunks, bool combining) {
    Collective c{.custom_name = "random", .ranks = ranks, .combining = combining};
    for (int k = 0; k < chunks; ++k) c.chunks.push_back({.pre = some(ranks), .post = some(ranks)});
    if (chunks > 1 && below(2) == 0) c.chunks[1] = c.chunks[0];
    return c;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % n); }
  std::vector<Rank> some(int ranks) {
    std::vector<Rank> chosen;
    while (chosen.empty())
      for (Rank n = 0; n < ranks; ++n)
        if (below(2) == 0) chosen.push_back(n);
    return chosen;
  }

  std::mt19937 random_;
};

void agrees_with_exhaustive_search(bool combining, int chunks, int cases, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomQuestions questions(seed);
  int sat = 0, unsat = 0;
  for (int i = 0; i < cases; ++i) {
    const Topology t = questions.topology(3, 4);
    const Collective c = questions.collective(3, chunks, combining);
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
  RandomQuestions questions(seed);
  int sat = 0, unsat = 0;
  for (int i = 0; i < 40; ++i) {
    const Topology t = questions.topology(5, 11);
    const Collective c = questions.collective(5, 3, combining);
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
