// The plain formula where the answer is known by hand; tests/property has it beside all who answer.
#include "semantics/plain_formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/frontier.h"
#include "semantics/verify.h"
#include "solvers/sat_solver.h"
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
  const auto solver = make_solver();
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

// Eleven ranks that are equal get two chunks each by ports of one chunk per round. Without their order this
// takes more than 300,000 conflicts.
TEST(PlainFormula, EqualRanksAreOrdered) {
  const PlainFormula plain(test::hub(12), make_collective("broadcast", 12, 2), {.steps = 2, .rounds = 7},
                           true);
  const auto solver = make_solver();
  solver->add(plain.formula());
  EXPECT_EQ(solver->solve({}, {.conflicts = 30'000}), Verdict::Unsat);
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
