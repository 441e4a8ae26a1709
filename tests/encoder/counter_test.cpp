#include "encoder/counter.h"

#include <gtest/gtest.h>

#include "solvers/sat_solver.h"

namespace chorale {
namespace {

// For every assignment of the inputs: forbidding "more than k" is satisfiable exactly if at most k are true.
void counts(Counter counter) {
  constexpr int kInputs = 5, kCap = 4;
  Formula f;
  std::vector<Lit> inputs;
  for (int i = 0; i < kInputs; ++i) inputs.push_back(f.fresh());
  const std::vector<Lit> number = count(f, inputs, kCap, counter);
  const auto solver = make_solver();
  solver->add(f);
  for (unsigned bits = 0; bits < 1u << kInputs; ++bits)
    for (int k = 0; k < kCap; ++k) {
      std::vector<Lit> assumptions = {-number[k]};
      int ones = 0;
      for (int i = 0; i < kInputs; ++i) {
        const bool one = bits >> i & 1;
        ones += one;
        assumptions.push_back(one ? inputs[i] : -inputs[i]);
      }
      EXPECT_EQ(solver->solve(assumptions, {}), ones <= k ? Verdict::Sat : Verdict::Unsat)
          << bits << " <= " << k;
    }
}

TEST(Counter, TotalizerCounts) {
  counts(Counter::Totalizer);
}
TEST(Counter, SequentialCounts) {
  counts(Counter::Sequential);
}

TEST(Counter, AtMostOneOfMany) {
  for (int n : {1, 2, 6, 7, 15, 30}) {
    Formula f;
    std::vector<Lit> inputs;
    for (int i = 0; i < n; ++i) inputs.push_back(f.fresh());
    at_most_one(f, inputs);
    const auto solver = make_solver();
    solver->add(f);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(solver->solve(std::vector<Lit>{inputs[i]}, {}), Verdict::Sat);
      for (int j = 0; j < i; ++j)
        EXPECT_EQ(solver->solve(std::vector<Lit>{inputs[i], inputs[j]}, {}), Verdict::Unsat);
    }
  }
}

}  // namespace
}  // namespace chorale
