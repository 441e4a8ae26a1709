// Cubes against the question that they are cut from, asked as a whole; what may not be concluded from them;
// and that who answers them makes no difference.
#include "pareto/cubes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bounds/lower_bounds.h"
#include "ir/error.h"
#include "ir/json.h"
#include "pareto/check.h"
#include "pareto/search.h"
#include "pareto/synthesize.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

constexpr const char* kCollectives[] = {"allgather", "broadcast", "alltoall", "reducescatter", "allreduce"};

// The budgets next to what hops and cuts allow: some have schedules and some have none.
Budget random_budget(std::mt19937& random, const Topology& topology, const Collective& collective) {
  LowerBounds bounds(topology, collective);
  const int steps = bounds.fewest_steps().steps + test::below(random, 3);
  const int rounds = std::max(steps, bounds.fewest_rounds().rounds) - 1 + test::below(random, 4);
  return {.steps = std::max(1, steps), .rounds = std::max(1, rounds)};
}

CutQuestion answered(const Topology& topology, const Collective& collective, const Budget& budget, int cubes,
                     int jobs = 1) {
  CutQuestion question{.collective = collective.kind,
                       .chunks = collective.chunks_per_block,
                       .budget = budget,
                       .cubes = cut(topology, collective, budget, cubes, {})};
  solve_cubes(topology, collective, question, {.cube_jobs = jobs}, {});
  return question;
}

// A tree of cubes that is grown at random leaves.
std::vector<Cube> random_tree(std::mt19937& random, int leaves) {
  std::vector<Cube> cubes = {{}};
  for (int next = 1; std::ssize(cubes) < leaves; ++next) {
    const int at = test::below(random, static_cast<int>(cubes.size()));
    Cube other = cubes[at];
    // A new question at each leaf, so that none is asked twice on the way.
    cubes[at].decisions.push_back({.chunk = next, .link = next % 3, .step = 1 + next % 5, .sent = true});
    other.decisions.push_back({.chunk = next, .link = next % 3, .step = 1 + next % 5, .sent = false});
    cubes.push_back(other);
  }
  std::ranges::shuffle(cubes, random);
  return cubes;
}

TEST(Cubes, LeavesOfATreeAreAPartitionAndNothingLess) {
  std::mt19937 random(1);
  EXPECT_FALSE(is_partition({}));
  EXPECT_TRUE(is_partition(std::vector<Cube>{{}}));
  for (int i = 0; i < 200; ++i) {
    const std::vector<Cube> all = random_tree(random, 2 + test::below(random, 40));
    ASSERT_TRUE(is_partition(all));
    const int one = test::below(random, static_cast<int>(all.size()));
    std::vector<Cube> less = all;
    less.erase(less.begin() + one);
    EXPECT_FALSE(is_partition(less));
    std::vector<Cube> twice = all;
    twice.push_back(all[one]);
    EXPECT_FALSE(is_partition(twice));
    std::vector<Cube> other = all;
    Decision& last = other[one].decisions.back();
    (i % 2 == 0 ? last.step : last.chunk) += 1;
    EXPECT_FALSE(is_partition(other));
    std::vector<Cube> turned = all;  // now two leaves are one, and one is missing
    turned[one].decisions.back().sent = !all[one].decisions.back().sent;
    EXPECT_FALSE(is_partition(turned));
    std::vector<Cube> deeper = all;  // half of a leaf
    deeper[one].decisions.push_back({.chunk = 1000});
    EXPECT_FALSE(is_partition(deeper));
  }
}

// What the cubes say together is what the whole question has as answer, on threads as alone.
TEST(Cubes, TogetherTheyAnswerAsTheWhole) {
  std::mt19937 random(2);
  int sat = 0, unsat = 0, many = 0;
  for (int i = 0; i < 60; ++i) {
    const Topology topology = test::random_machine(random, {.most_ranks = 5, .most_limits = 2});
    const Collective collective = make_collective(kCollectives[i % std::size(kCollectives)], topology.ranks,
                                                  1 + test::below(random, 2));
    const Budget budget = random_budget(random, topology, collective);
    const CutQuestion question = answered(topology, collective, budget, 2 + test::below(random, 12));
    ASSERT_TRUE(is_partition(question.cubes)) << i;
    EXPECT_EQ(question.cubes, cut(topology, collective, budget, static_cast<int>(question.cubes.size()), {}));
    const Answer parts = put_together(topology, collective, question);
    const Answer whole = synthesize(topology, collective, budget, {.use_bounds = false});
    ASSERT_EQ(parts.verdict, whole.verdict) << i << " " << name_of(collective) << to_json(topology);
    ASSERT_NE(parts.verdict, Verdict::Unknown);
    many += question.cubes.size() > 2;
    (parts.verdict == Verdict::Sat ? sat : unsat) += 1;
    const CutQuestion threaded =
        answered(topology, collective, budget, static_cast<int>(question.cubes.size()), 3);
    const Answer again = put_together(topology, collective, threaded);
    ASSERT_EQ(again.verdict, parts.verdict);
    if (parts.verdict == Verdict::Unsat) {
      EXPECT_EQ(again.claim, parts.claim);
      continue;
    }
    EXPECT_EQ(again.point, parts.point);
    EXPECT_EQ(violations(topology, collective, parts.point->schedule), std::vector<Fault>{});
    EXPECT_LE(parts.point->cost.steps, budget.steps);
    EXPECT_LE(parts.point->cost.rounds, budget.rounds);
  }
  EXPECT_GT(sat, 15);
  EXPECT_GT(unsat, 8);
  EXPECT_GT(many, 20);
}

// Three foreign chunks reach each rank of the ring over two links, so one round is too few, and two are not.
TEST(Cubes, OneThatIsNotKnownLeavesTheQuestionOpen) {
  const Topology ring = named_topology("ring:4");
  const Collective collective = make_collective("allgather", 4, 1);
  const CutQuestion none = answered(ring, collective, {.steps = 2, .rounds = 1}, 8);
  // A question that propagation refutes has one cube; this is cut by hand, so that there are some.
  CutQuestion question = none;
  question.cubes = {{{{.chunk = 0, .link = 0}}}, {{{.chunk = 0, .link = 0, .sent = false}}}};
  solve_cubes(ring, collective, question, {}, {});
  ASSERT_EQ(put_together(ring, collective, question).verdict, Verdict::Unsat);
  for (std::size_t i = 0; i < question.cubes.size(); ++i) {
    CutQuestion open = question;
    open.answers[i] = {};
    EXPECT_EQ(put_together(ring, collective, open).verdict, Verdict::Unknown);
    CutQuestion less = question;
    less.cubes.erase(less.cubes.begin() + static_cast<long>(i));
    less.answers.erase(less.answers.begin() + static_cast<long>(i));
    EXPECT_EQ(put_together(ring, collective, less).verdict, Verdict::Unknown);
    less = question;
    less.answers.pop_back();
    EXPECT_EQ(put_together(ring, collective, less).verdict, Verdict::Unknown);
  }
  EXPECT_EQ(put_together(ring, collective, {}).verdict, Verdict::Unknown);
  CutQuestion found = answered(ring, collective, {.steps = 2, .rounds = 2}, 4);
  const auto at = std::ranges::find(found.answers, Verdict::Sat, &CubeAnswer::verdict);
  ASSERT_NE(at, found.answers.end());
  for (CubeAnswer& answer : found.answers)
    if (answer.verdict == Verdict::Unsat) answer = {};
  EXPECT_EQ(put_together(ring, collective, found).verdict, Verdict::Sat);
  at->point->schedule.steps.pop_back();  // another program's, and wrong
  EXPECT_THROW(put_together(ring, collective, found), InputError);
  // No conflicts, no answer.
  CutQuestion lazy = question;
  lazy.budget = {.steps = 3, .rounds = 3};
  lazy.cubes = {{}};
  solve_cubes(named_topology("dgx1"), make_collective("allgather", 8, 6), lazy, {.limits = {.conflicts = 0}},
              {});
  EXPECT_EQ(lazy.answers.front().verdict, Verdict::Unknown);
}

// Hard for a limit of a few conflicts, without what would spare them.
FrontierOptions few_conflicts(int cubes) {
  FrontierOptions options{.max_chunks = 2, .max_steps = 4};
  options.synthesis = {
      .limits = {.conflicts = 8}, .cubes = cubes, .use_bounds = false, .use_symmetry = false};
  return options;
}

std::string without_seconds(Result result) {
  result.seconds = 0;
  for (Point& point : result.points) point.seconds = 0;
  for (Claim& claim : result.claims) claim.seconds = 0;
  return to_json(result);
}

// Searched as a whole, and again and again with the answers of others until it has them all: one result. And
// what the search states is accepted by the check, cube by cube.
TEST(Cubes, WhoeverAnswersThemTheResultIsTheSame) {
  std::mt19937 random(3);
  int hard = 0, shown = 0, more = 0, agreed = 0;
  for (int i = 0; i < 10; ++i) {
    const Topology topology = test::random_machine(random, {.most_ranks = 5, .most_limits = 1});
    const Collective collective =
        make_collective(kCollectives[i % std::size(kCollectives)], topology.ranks, 1);
    FrontierOptions options = few_conflicts(16);
    const Result alone = search_frontier(topology, collective, options);
    Result together;
    for (bool open = true; open;) {
      std::vector<CutQuestion> asked;
      options.synthesis.hard = [&](const CutQuestion& question) { asked.push_back(question); };
      together = search_frontier(topology, collective, options);
      open = !asked.empty();
      for (CutQuestion& question : asked) {
        const Collective of = of_kind(collective, question.collective, question.chunks);
        solve_cubes(topology, of, question, options.synthesis, {});
        options.synthesis.cut.push_back(question);
        ++hard;
      }
    }
    ASSERT_EQ(without_seconds(together), without_seconds(alone)) << i << " " << name_of(collective);
    // Uncut, with all the conflicts that it takes: no better points, and what is shown here is true.
    FrontierOptions plenty = few_conflicts(0);
    plenty.synthesis.limits = {};
    const Result known = search_frontier(topology, collective, plenty);
    ASSERT_TRUE(known.complete);
    if (alone.complete) {
      for (const Point& point : known.points)
        EXPECT_TRUE(!point.on_frontier || std::ranges::any_of(alone.points, [&](const Point& other) {
          return other.cost.steps == point.cost.steps && compare_rate(other.cost, point.cost) == 0;
        })) << i;
      ++agreed;
    }
    const Result uncut = search_frontier(topology, collective, few_conflicts(0));
    more += alone.complete && !uncut.complete;
    EXPECT_EQ(result_from_json(to_json(alone), "alone"), alone);
    const CheckReport report = check_result(alone, "", {}, {}, {.conflicts = 0});
    EXPECT_EQ(report.faults, std::vector<Fault>{}) << i;
    EXPECT_EQ(report.undecided, 0);
    for (std::size_t c = 0; c < alone.claims.size(); ++c) {
      if (alone.claims[c].certificate.cubes.empty()) continue;
      ++shown;
      Result forged = alone;
      forged.claims[c].certificate.cubes.pop_back();
      EXPECT_FALSE(check_result(forged, "", {}, {}, {.conflicts = 0}).faults.empty());
      forged.claims[c] = alone.claims[c];
      forged.claims[c].certificate.cubes[0].decisions[0].chunk = 1'000'000;
      EXPECT_FALSE(check_result(forged, "", {}, {}, {.conflicts = 0}).faults.empty());
    }
  }
  EXPECT_GT(hard, 6);
  EXPECT_GT(shown, 1);
  EXPECT_GT(more, 0);
  EXPECT_GT(agreed, 3);
}

}  // namespace
}  // namespace chorale
