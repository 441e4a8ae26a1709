#include "encoder/step_round_encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "encoder/contribution_encoding.h"
#include "graph/automorphisms.h"
#include "ir/agreement.h"
#include "semantics/verify.h"
#include "solvers/sat_solver.h"
#include "tests/kit/random.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using test::ring;

// Asks and, where there is a model, has the verifier look at the decoded schedule.
template <typename Encoding>
Verdict ask(const Topology& t, const Collective& c, const Budget& horizon, const Budget& budget,
            const EncodingOptions& options = {}) {
  const Encoding encoding(t, c, horizon, options);
  const auto solver = make_solver();
  solver->add(encoding.formula());
  const Verdict verdict = solver->solve(encoding.assume(budget), {});
  if (verdict != Verdict::Sat) return verdict;
  Assignment model(encoding.formula().variables + 1);
  for (int v = 1; v <= encoding.formula().variables; ++v) model[v] = solver->value(v);
  const Schedule schedule = encoding.decode(model);
  EXPECT_THAT(violations(t, c, schedule), testing::IsEmpty());
  EXPECT_LE(static_cast<int>(schedule.steps.size()), budget.steps);
  EXPECT_LE(total_rounds(schedule), budget.rounds);
  return verdict;
}

Verdict copy(const Topology& t, const Collective& c, const Budget& b) {
  return ask<StepRoundEncoding>(t, c, b, b);
}
Verdict sum(const Topology& t, const Collective& c, const Budget& b) {
  return ask<ContributionEncoding>(t, c, b, b);
}

// Three foreign chunks reach each rank over two links: at least two rounds; the rank opposite is two hops
// away: at least two steps.
TEST(StepRoundEncoding, RingOfFourAllgather) {
  const Collective c = make_collective("allgather", 4, 1);
  EXPECT_EQ(copy(ring(4), c, {.steps = 1, .rounds = 4}), Verdict::Unsat);
  EXPECT_EQ(copy(ring(4), c, {.steps = 2, .rounds = 1}), Verdict::Unsat);
  EXPECT_EQ(copy(ring(4), c, {.steps = 2, .rounds = 2}), Verdict::Sat);
}

// Two chunks a rank: six foreign chunks over two links are three rounds, which one step of one round and one
// of two do.
TEST(StepRoundEncoding, RoundsAreDividedFreely) {
  const Collective c = make_collective("allgather", 4, 2);
  EXPECT_EQ(copy(ring(4), c, {.steps = 2, .rounds = 2}), Verdict::Unsat);
  EXPECT_EQ(copy(ring(4), c, {.steps = 2, .rounds = 3}), Verdict::Sat);
}

// The opposite rank's contribution must come over a neighbour's: after one step each pair has its sum, after
// two all.
TEST(ContributionEncoding, RingOfFourAllreduce) {
  const Collective c = make_collective("allreduce", 4, 1);
  EXPECT_EQ(sum(ring(4), c, {.steps = 1, .rounds = 4}), Verdict::Unsat);
  EXPECT_EQ(sum(ring(4), c, {.steps = 2, .rounds = 1}), Verdict::Unsat);
  EXPECT_EQ(sum(ring(4), c, {.steps = 2, .rounds = 2}), Verdict::Sat);
}

// One formula answers every budget within its horizon as the formula of that budget alone does.
TEST(StepRoundEncoding, AssumptionsSayTheSameAsTightHorizons) {
  const Collective c = make_collective("allgather", 5, 1);
  for (int steps = 1; steps <= 4; ++steps)
    for (int rounds = 1; rounds <= 4; ++rounds) {
      const Budget budget{.steps = steps, .rounds = rounds};
      EXPECT_EQ(ask<StepRoundEncoding>(ring(5), c, {.steps = 4, .rounds = 4}, budget),
                copy(ring(5), c, budget))
          << steps << " steps, " << rounds << " rounds";
    }
}

// Who adds what meets in a step as one operation of several operands: the trees that ranks end with.
std::set<std::string> trees_at_once(const Topology& t, const Schedule& schedule, Chunk c,
                                    int& most_operands) {
  std::vector<std::string> held(t.ranks);
  for (Rank n = 0; n < t.ranks; ++n) held[n] = std::to_string(n);
  for (const Step& step : schedule.steps) {
    std::vector<std::multiset<std::string>> operands(t.ranks);
    for (Rank n = 0; n < t.ranks; ++n) operands[n] = {held[n]};
    for (const Send& send : step.sends)
      if (send.chunk == c && !send.reduce) operands[t.links[send.link].dst] = {held[t.links[send.link].src]};
    for (const Send& send : step.sends)
      if (send.chunk == c && send.reduce)
        operands[t.links[send.link].dst].insert(held[t.links[send.link].src]);
    for (Rank n = 0; n < t.ranks; ++n) {
      most_operands = std::max(most_operands, static_cast<int>(operands[n].size()));
      held[n] =
          operands[n].size() == 1 ? *operands[n].begin() : fmt::format("({})", fmt::join(operands[n], " "));
    }
  }
  return {held.begin(), held.end()};
}

// On random machines: sums that are made alike end as one tree, however ranks add within a step; sums in
// pairs have two operands. Each space lies within the one before.
TEST(ContributionEncoding, SumsMadeAlikeAndInPairs) {
  std::mt19937 random(11);
  int fewer = 0, differ = 0, alike = 0, in_pairs = 0;
  for (int i = 0; i < 60; ++i) {
    const int ranks = 3 + i % 3;
    const Topology t = test::random_machine(random, {.least_ranks = ranks,
                                                     .most_ranks = ranks,
                                                     .least_links = 2 * ranks,
                                                     .most_links = 4 * ranks,
                                                     .widest = 2});
    const Collective c = make_collective("allreduce", ranks, 1);
    for (int steps = 1; steps <= 3; ++steps) {
      Verdict before = Verdict::Sat;
      for (const SumsMade made : {SumsMade::Anyhow, SumsMade::Alike, SumsMade::InPairs}) {
        const Budget budget{.steps = steps, .rounds = steps + 1};
        const ContributionEncoding encoding(t, c, budget, {.sums = made});
        const auto solver = make_solver();
        solver->add(encoding.formula());
        const Verdict verdict = solver->solve(encoding.assume(budget), {});
        fewer += made == SumsMade::InPairs && verdict != before;
        ASSERT_TRUE(before == Verdict::Sat || verdict == Verdict::Unsat) << i << ", " << steps << " steps";
        before = verdict;
        if (verdict != Verdict::Sat) continue;
        const Schedule schedule = encoding.decode(solver->model(encoding.formula().variables));
        ASSERT_THAT(violations(t, c, schedule), testing::IsEmpty());
        int operands = 0;
        const std::size_t trees = trees_at_once(t, schedule, 0, operands).size();
        ASSERT_EQ(sums_are_alike(t, c, schedule), trees == 1) << i << ", " << steps << " steps";
        differ += trees > 1;
        if (made == SumsMade::Anyhow) continue;
        ASSERT_EQ(trees, 1) << i << ", " << steps << " steps";
        ++(made == SumsMade::Alike ? alike : in_pairs);
        ASSERT_TRUE(made == SumsMade::Alike || operands <= 2) << i << ", " << steps << " steps";
      }
    }
  }
  EXPECT_GT(differ, 5);
  EXPECT_GT(std::min(alike, in_pairs), 20);
  EXPECT_GT(fewer, 5);
}

// Eleven ranks that are equal get two chunks each by ports of one chunk per round. Without their order this
// takes more than 300,000 conflicts.
TEST(StepRoundEncoding, EqualRanksAreOrdered) {
  const Budget budget{.steps = 2, .rounds = 7};
  const StepRoundEncoding encoding(test::hub(12), make_collective("broadcast", 12, 2), budget);
  const auto solver = make_solver();
  solver->add(encoding.formula());
  EXPECT_EQ(solver->solve(encoding.assume(budget), {.conflicts = 30'000}), Verdict::Unsat);
}

TEST(Encodings, CountersSayTheSame) {
  const Collective c = make_collective("allgather", 4, 3);
  for (int rounds = 3; rounds <= 6; ++rounds) {
    const Budget budget{.steps = 3, .rounds = rounds};
    EXPECT_EQ(ask<StepRoundEncoding>(ring(4), c, budget, budget, {.counter = Counter::Sequential}),
              ask<StepRoundEncoding>(ring(4), c, budget, budget, {.counter = Counter::Totalizer}));
  }
}

// Rotations of a ring: a schedule that looks the same from every rank. With the group the formula is a
// quarter.
TEST(StepRoundEncoding, SymmetricSchedules) {
  const Topology t = ring(4);
  Automorphism rotation{.ranks = {1, 2, 3, 0}};
  for (const Link& link : t.links)
    rotation.links.push_back(find_link(t, rotation.ranks[link.src], rotation.ranks[link.dst]));
  const Collective c = make_collective("allgather", 4, 2);
  const Budget budget{.steps = 2, .rounds = 3};
  EXPECT_EQ(ask<StepRoundEncoding>(t, c, budget, budget, {.symmetry = {rotation}}), Verdict::Sat);
  const StepRoundEncoding whole(t, c, budget), part(t, c, budget, {.symmetry = {rotation}});
  EXPECT_LT(part.formula().clauses * 3, whole.formula().clauses);
  // A Broadcast's root moves under the rotation.
  EXPECT_FALSE(induced_chunks(make_collective("broadcast", 4, 1), rotation).has_value());
}

}  // namespace
}  // namespace chorale
