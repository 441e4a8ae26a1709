// What is reported of a formula's size before it is built is no less than what is built, so that a limit on
// the one is a limit on the other.
#include "pareto/formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "bounds/lower_bounds.h"
#include "construct/engine/solved_question.h"
#include "tests/kit/random.h"
#include "topology/machines.h"

namespace chorale {
namespace {

double built(const Topology& t, const Collective& of, const Budget& budget) {
  return static_cast<double>(InstanceEncoding(t, of, budget).formula().clauses);
}

// A few more are fixed costs of small formulas.
constexpr double kSmall = 2'000;

TEST(Formulas, HaveNoMoreClausesThanIsSaidBefore) {
  const char* const names[] = {"allgather", "broadcast", "allreduce", "alltoall", "reducescatter"};
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Topology t = test::random_machine(random);
    const Collective asked =
        make_collective(names[seed % std::size(names)], t.ranks, 1 + test::below(random, 2));
    const SolvedQuestion solved(t, asked);
    const int steps = std::max(1, fewest_steps(t, asked).steps + test::below(random, 2));
    const Budget budget{.steps = steps, .rounds = steps + test::below(random, 4)};
    EXPECT_LE(built(solved.topology, solved.collective, budget),
              2 * clauses(solved.topology, solved.collective, budget) + kSmall)
        << "seed " << seed;
  }
}

// An Allgather of 64 ranks in eight boxes of two chunks: it was built, in 2 GB.
TEST(Formulas, OfManyRanksAreNotBuilt) {
  const Topology t = load_topology("dgx1:8");
  EXPECT_GT(clauses(t, make_collective("allgather", t.ranks, 2), {.steps = 4, .rounds = 120}), kMostClauses);
}

}  // namespace
}  // namespace chorale
