// Is there a schedule of these steps and rounds? Whoever decides that says the same: the encodings, the plain
// formula, each engine with and without bounds, and, where the machine is tiny, trying all schedules
// (tests/kit/exhaustive.h). A table of questions by those who decide; whatever they find is a schedule of the
// question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "encoder/contribution_encoding.h"
#include "encoder/step_round_encoding.h"
#include "ir/json.h"
#include "pareto/instance_solver.h"
#include "semantics/plain_formula.h"
#include "semantics/verify.h"
#include "solvers/sat_solver.h"
#include "tests/kit/random.h"
#include "tests/kit/tiny.h"
#include "tests/property/suite.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using test::below;
using test::exhaustive::kNever;

struct SmallQuestion {
  Topology topology = {};
  Collective collective = {};
};

struct Decided {
  Verdict verdict = Verdict::Unknown;
  std::optional<Schedule> schedule = {};
};

Decided solved(const Formula& formula, const std::vector<Lit>& assumptions, const auto& schedule_of) {
  const auto solver = make_solver();
  solver->add(formula);
  const Verdict verdict = solver->solve(assumptions, {});
  if (verdict != Verdict::Sat) return {verdict, {}};
  return {verdict, schedule_of(solver->model(formula.variables))};
}

template <typename Encoding>
Decided encoded(const SmallQuestion& q, const Budget& horizon, const Budget& budget) {
  const Encoding encoding(q.topology, q.collective, horizon, {});
  return solved(encoding.formula(), encoding.assume(budget),
                [&](const Assignment& model) { return encoding.decode(model); });
}

Decided encoded(const SmallQuestion& q, const Budget& horizon, const Budget& budget) {
  return q.collective.combining ? encoded<ContributionEncoding>(q, horizon, budget)
                                : encoded<StepRoundEncoding>(q, horizon, budget);
}

template <bool numbered>
Decided plainly(const SmallQuestion& q, const Budget& budget) {
  const PlainFormula plain(q.topology, q.collective, budget, numbered);
  return solved(plain.formula(), {}, [&](const Assignment& model) { return plain.schedule(model); });
}

template <Engine engine, bool use_bounds>
Decided synthesized(const SmallQuestion& q, const Budget& budget) {
  const Answer answer =
      synthesize(q.topology, q.collective, budget, {.engine = engine, .use_bounds = use_bounds});
  if (!answer.point) return {answer.verdict, {}};
  return {answer.verdict, answer.point->schedule};
}

enum Group { kFormulas = 1, kSearch = 2, kBaselines = 4 };

const struct {
  const char* name;
  Group group;
  Decided (*decide)(const SmallQuestion&, const Budget&);
} kDeciders[] = {
    {"the encoding", kFormulas,
     [](const SmallQuestion& q, const Budget& budget) { return encoded(q, budget, budget); }},
    // One formula answers every budget within its horizon as the formula of that budget alone does.
    {"the encoding with a larger horizon", kFormulas,
     [](const SmallQuestion& q, const Budget& budget) {
       return encoded(q, {.steps = budget.steps + 1, .rounds = budget.rounds + 2}, budget);
     }},
    {"the plain formula", kFormulas, plainly<false>},
    {"the plain formula, chunks in order", kFormulas, plainly<true>},
    {"the search", kSearch, synthesized<Engine::Sat, true>},
    {"the search without bounds", kSearch, synthesized<Engine::Sat, false>},
    {"SCCL's encoding", kBaselines, synthesized<Engine::Smt, false>},
    {"an encoding for each split of the rounds", kBaselines, synthesized<Engine::SatPartition, false>},
};

// Whether a rank is reached is left to chance. Of several chunks, half the time two equal ones, so that their
// order has something to do.
SmallQuestion any(std::mt19937& random, int ranks, int links, int chunks, bool combining) {
  SmallQuestion q{.topology = test::random_machine(random, {.least_ranks = ranks,
                                                            .most_ranks = ranks,
                                                            .joined = test::Machines::Joined::Nothing,
                                                            .least_links = links,
                                                            .most_links = links,
                                                            .widest = 2,
                                                            .most_limits = 1}),
                  .collective = test::random_collective(
                      random, ranks,
                      {.names = {}, .combining = combining, .least_chunks = chunks, .most_chunks = chunks})};
  if (chunks > 1 && below(random, 2) == 0) q.collective.chunks[1] = q.collective.chunks[0];
  return q;
}

// Four ranks on a ring in one direction, with three links more, and in half of the cases a port.
SmallQuestion four(std::mt19937& random) {
  SmallQuestion q{.topology = test::random_machine(random, {.least_ranks = 4,
                                                            .most_ranks = 4,
                                                            .least_links = 3,
                                                            .most_links = 3,
                                                            .widest = 2,
                                                            .most_limits = 0})};
  if (below(random, 2) == 0) {
    q.topology.limits.push_back({.name = "port", .links = {1, 3}, .bandwidth = 1});
    if (q.topology.links.size() > 4) q.topology.limits.back().links.push_back(4);
  }
  const char* const names[] = {"allgather", "alltoall", "reducescatter"};
  q.collective = make_collective(names[below(random, 3)], 4, 1);
  return q;
}

// Ranks of two kinds, numbered in any order: what one of a kind has, links and ports, each of it has.
SmallQuestion of_two_kinds(std::mt19937& random, bool combining) {
  const int ranks = test::between(random, 3, 4);
  SmallQuestion q{.topology = {.name = "kinds", .ranks = ranks}};
  std::vector<int> kind(ranks);
  for (int& each : kind) each = below(random, 2);
  int links[2][2] = {}, widths[2][2] = {};
  for (int from = 0; from < 2; ++from)
    for (int to = 0; to < 2; ++to)
      links[from][to] = below(random, 6) > 0 ? 1 + (below(random, 6) == 0) : 0,
      widths[from][to] = 1 + (below(random, 4) == 0);
  for (Rank a = 0; a < ranks; ++a)
    for (Rank b = 0; b < ranks; ++b)
      for (int i = 0; a != b && i < links[kind[a]][kind[b]]; ++i)
        q.topology.links.push_back({.src = a, .dst = b, .bandwidth = widths[kind[a]][kind[b]]});
  for (int has = 0; has < 2; ++has) {
    const bool out = below(random, 2) == 0, in = below(random, 2) == 0;
    const Abilities can{.multicast = below(random, 3) == 0, .reduce = below(random, 3) == 0};
    const auto port = [&](Rank n, auto end) {
      SharedLimit limit{.name = "port", .abilities = can};
      for (LinkId l = 0; l < std::ssize(q.topology.links); ++l)
        if (q.topology.links[l].*end == n) limit.links.push_back(l);
      if (!limit.links.empty()) q.topology.limits.push_back(limit);
    };
    for (Rank n = 0; n < ranks; ++n) {
      if (kind[n] == has && out) port(n, &Link::src);
      if (kind[n] == has && in) port(n, &Link::dst);
    }
  }
  std::vector<const char*> names = {"broadcast", "allgather", "alltoall", "scatter"};
  if (combining) names = {"allreduce", "reduce", "reducescatter"};
  const std::string name = names[below(random, static_cast<int>(names.size()))];
  const int chunks =
      name == "broadcast" || name == "allreduce" || name == "reduce" ? test::between(random, 1, 3) : 1;
  q.collective = make_collective(name, ranks, chunks, below(random, ranks));
  return q;
}

Collective named(std::mt19937& random) {
  constexpr const char* kNames[] = {"broadcast", "allgather", "allreduce", "reduce", "scatter", "allreduce"};
  const char* const name = kNames[below(random, 6)];
  return make_collective(name, 3, name == std::string("broadcast") ? 2 : 1);
}

std::vector<Budget> up_to_three(const SmallQuestion&, unsigned) {
  std::vector<Budget> all;
  for (int steps = 1; steps <= 3; ++steps)
    for (int rounds = 1; rounds <= 3; ++rounds) all.push_back({.steps = steps, .rounds = rounds});
  return all;
}

// Next to what is possible in one step and in two.
std::vector<Budget> at_the_border(const SmallQuestion& q, unsigned) {
  const test::Possible possible(q.topology, q.collective, 2);
  std::vector<Budget> all;
  for (int steps = 1; steps <= 2; ++steps)
    for (int rounds = std::max(steps, possible.rounds(steps) - 1);
         rounds <= std::min(possible.rounds(steps), 4); ++rounds)
      all.push_back({.steps = steps, .rounds = rounds});
  return all;
}

struct QuestionRow {
  const char* maker;
  SmallQuestion (*make)(std::mt19937&);
  std::vector<Budget> (*budgets)(const SmallQuestion&, unsigned seed);
  int deciders;  // of these groups
  bool tiny;     // all schedules can be tried
  unsigned cases;
  int most_sat, most_unsat;  // there are more than this
};

const QuestionRow kQuestionRows[] = {
    {"copies", [](auto& random) { return any(random, 3, 5, 2, false); }, up_to_three, kFormulas, true, 80, 40,
     40},
    {"sums", [](auto& random) { return any(random, 3, 5, 1, true); }, up_to_three, kFormulas, true, 120, 40,
     40},
    {"copies of more", [](auto& random) { return any(random, 5, 13, 3, false); },
     [](const SmallQuestion&, unsigned seed) {
       const int more = static_cast<int>(seed % 2);
       return std::vector<Budget>{{2, 2 + more}, {3, 3 + more}, {4, 4 + more}};
     },
     kFormulas, false, 40, 5, 20},
    {"sums of more", [](auto& random) { return any(random, 5, 13, 3, true); },
     [](const SmallQuestion&, unsigned seed) {
       const int more = static_cast<int>(seed % 2);
       return std::vector<Budget>{{2, 2 + more}, {3, 3 + more}, {4, 4 + more}};
     },
     kFormulas, false, 40, 5, 20},
    {"copies between equal ranks", [](auto& random) { return of_two_kinds(random, false); },
     [](const SmallQuestion&, unsigned) {
       return std::vector<Budget>{{1, 1}, {2, 2}, {2, 3}, {2, 4}, {3, 3}, {3, 5}};
     },
     kFormulas, false, 60, 100, 100},
    {"sums of equal ranks", [](auto& random) { return of_two_kinds(random, true); },
     [](const SmallQuestion&, unsigned) {
       return std::vector<Budget>{{1, 1}, {2, 2}, {2, 3}, {2, 4}, {3, 3}, {3, 5}};
     },
     kFormulas, false, 60, 100, 100},
    {"named ones, by all engines", four,
     [](const SmallQuestion&, unsigned) {
       return std::vector<Budget>{{2, 2}, {3, 3}, {3, 5}};
     },
     kSearch | kBaselines, false, 12, 3, 3},
    {"limits that compute",
     [](auto& random) {
       return SmallQuestion{test::able_limits(random), named(random)};
     },
     at_the_border, kFormulas | kSearch, true, 30, 15, 10},
    {"switches that compute",
     [](auto& random) {
       return SmallQuestion{flatten(test::able_switches(random)), named(random)};
     },
     at_the_border, kFormulas | kSearch, true, 30, 20, 10},
};

void PrintTo(const QuestionRow& row, std::ostream* out) {
  *out << row.maker;
}

class Questions : public ::testing::TestWithParam<QuestionRow> {};

// Of the question, within the budget; where it is tiny, each step takes what counting by hand says, and not a
// round less.
void expect_answer(const SmallQuestion& q, const Budget& budget, Schedule schedule, bool tiny) {
  EXPECT_THAT(violations(q.topology, q.collective, schedule), testing::IsEmpty());
  EXPECT_LE(std::ssize(schedule.steps), budget.steps);
  EXPECT_LE(total_rounds(schedule), budget.rounds);
  for (Step& step : schedule.steps) {
    if (!tiny) continue;
    const int rounds = test::rounds_by_hand(q.topology, step);
    EXPECT_EQ(needed_rounds(q.topology, step), rounds);
    step.rounds = rounds;
    EXPECT_THAT(violations(q.topology, q.collective, schedule), testing::IsEmpty());
    --step.rounds;  // forged
    EXPECT_THAT(violations(q.topology, q.collective, schedule), testing::Not(testing::IsEmpty()));
    ++step.rounds;
  }
}

// Neither is a bound above what is possible, nor a schedule below.
void expect_between(const SmallQuestion& q, int steps, int fewest) {
  const std::vector<Point> points = incumbents(q.topology, q.collective);
  if (points.empty()) return;  // some rank is not reached
  EXPECT_LE(fewest_rounds_in(q.topology, q.collective, steps).rounds,
            fewest == kNever ? kNoSchedule : fewest);
  for (const Point& point : points)
    if (point.cost.steps <= steps) {
      EXPECT_GE(point.cost.rounds, fewest);
    }
}

TEST_P(Questions, EverybodySaysTheSame) {
  const QuestionRow& row = GetParam();
  int sat = 0, unsat = 0;
  test::each_case(row.maker, row.cases, [&](std::mt19937& random, unsigned seed) {
    const SmallQuestion q = row.make(random);
    SCOPED_TRACE(to_json(q.topology) + to_json(q.collective));
    std::optional<test::Possible> possible;
    if (row.tiny) possible.emplace(q.topology, q.collective, 3);
    for (const Budget& budget : row.budgets(q, seed)) {
      SCOPED_TRACE(std::to_string(budget.steps) + " steps, " + std::to_string(budget.rounds) + " rounds");
      std::optional<Verdict> known;
      if (possible) {
        known = possible->within(budget) ? Verdict::Sat : Verdict::Unsat;
        expect_between(q, budget.steps, possible->rounds(budget.steps));
      }
      for (const auto& [name, group, decide] : kDeciders) {
        if (!(row.deciders & group)) continue;
        SCOPED_TRACE(name);
        const Decided decided = decide(q, budget);
        if (!known) known = decided.verdict;
        EXPECT_EQ(decided.verdict, *known);
        EXPECT_NE(decided.verdict, Verdict::Unknown);
        if (decided.schedule) expect_answer(q, budget, *decided.schedule, row.tiny);
      }
      ++(*known == Verdict::Sat ? sat : unsat);
    }
  });
  if (!test::counts()) return;
  EXPECT_GT(sat, row.most_sat);
  EXPECT_GT(unsat, row.most_unsat);
}

INSTANTIATE_TEST_SUITE_P(Property, Questions, ::testing::ValuesIn(kQuestionRows),
                         test::test_name<QuestionRow>);

// Where limits compute, less is possible without that: else the rows above would show nothing of it.
TEST(Questions, AbilitiesHelp) {
  int helped = 0;
  test::each_case("limits and switches that compute", 60, [&](std::mt19937& random, unsigned seed) {
    const Topology able = seed % 2 == 0 ? test::able_limits(random) : flatten(test::able_switches(random));
    const Collective c = named(random);
    Topology plain = able;
    for (SharedLimit& limit : plain.limits) limit.abilities = {};
    for (int steps = 1; steps <= 2; ++steps)
      helped += test::Possible(able, c, 2).rounds(steps) < test::Possible(plain, c, 2).rounds(steps);
  });
  if (test::counts()) {
    EXPECT_GT(helped, 20);
  }
}

// What a switch can do besides forwarding never makes the best schedule slower, whatever it delivers at most.
TEST(Questions, AbilitiesNeverHarm) {
  test::each_case("switches that compute", 60, [&](std::mt19937& random, unsigned) {
    const Topology able = test::able_switches(random);
    Topology plain = able;
    plain.abilities.clear();
    const Collective c = named(random);
    for (int steps = 1; steps <= 2; ++steps)
      EXPECT_LE(test::Possible(flatten(able), c, 2).rounds(steps),
                test::Possible(flatten(plain), c, 2).rounds(steps))
          << to_json(able) << name_of(c);
  });
}

}  // namespace
}  // namespace chorale
