// The three engines return the same strategies, and an engine with a wrong rule is found out.
#include "placement/engines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "encoder/strategy_encoding.h"
#include "ir/error.h"
#include "placement/check_ranking.h"
#include "placement/place.h"
#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"
#include "tests/placement/random_question.h"

namespace chorale {
namespace {

using Operation = StrategyInstruction::Operation;

// Without detours the longest strategy may be shorter than the longest path, so all are counted.
int longest_strategy(int levels, Rules rules) {
  const auto space = StrategySpace::of(levels);
  if (rules == Rules::Full) return space->longest();
  const std::vector<long long> counts = count_strategies(*space, rules, space->longest());
  int longest = space->longest();
  while (counts[longest] == 0) --longest;
  return longest;
}

void expect_same(int levels, Rules rules, int most, PlaceEngine engine, std::size_t count) {
  const StrategySet found = find_strategies(levels, rules, most, engine);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.nothing_longer, longest_strategy(levels, rules) <= most);
  EXPECT_EQ(found.strategies.size(), count);
  EXPECT_EQ(found.strategies, all_strategies(*StrategySpace::of(levels), rules, most));
  EXPECT_GT(found.calls, static_cast<long long>(count));
}

TEST(StrategyEnginesLong, SatFindsTheSame) {
  expect_same(1, Rules::Paper, 3, PlaceEngine::Sat, 3);
  expect_same(2, Rules::Paper, 4, PlaceEngine::Sat, 41);
  expect_same(2, Rules::Paper, 6, PlaceEngine::Sat, 47);
  expect_same(2, Rules::Full, 6, PlaceEngine::Sat, 110);
  expect_same(3, Rules::Paper, 3, PlaceEngine::Sat, 60);
  expect_same(3, Rules::Full, 3, PlaceEngine::Sat, 80);
}

TEST(StrategyEngines, SmtFindsTheSame) {
  expect_same(1, Rules::Paper, 3, PlaceEngine::Smt, 3);
  expect_same(3, Rules::Paper, 2, PlaceEngine::Smt, 7);
}

TEST(StrategyEnginesLong, SmtFindsTheSameWithDetours) {
  expect_same(2, Rules::Full, 3, PlaceEngine::Smt, 35);
}

TEST(StrategyEngines, ALimitIsNoProof) {
  const StrategySet found = find_strategies(2, Rules::Paper, 5, PlaceEngine::Sat, {.conflicts = 0});
  EXPECT_FALSE(found.complete);
  EXPECT_FALSE(found.nothing_longer);
}

// What a ranking is about: its placements with their times, and their strategies as sets, since of equal ones
// either may be first.
struct Answer {
  int matrices = 0, without_strategy = 0;
  std::vector<long long> programs = {};
  std::vector<double> us = {};                       // of the placements and of their strategies
  std::vector<std::multiset<Strategy>> listed = {};  // where all are listed
  bool operator==(const Answer&) const = default;
};

Answer answer_of(const Ranking& ranking, int strategies) {
  Answer answer{.matrices = ranking.matrices, .without_strategy = ranking.without_strategy};
  for (const RankedMatrix& matrix : ranking.best) {
    answer.us.push_back(rounded_price(matrix.us));
    for (const ReductionRanking& reduction : matrix.reductions) {
      answer.programs.push_back(reduction.programs);
      answer.programs.push_back(reduction.faster);
      std::multiset<Strategy> listed;
      for (const RankedStrategy& strategy : reduction.strategies) {
        answer.us.push_back(rounded_price(strategy.us));
        listed.insert(strategy.strategy());
      }
      if (std::ssize(listed) < strategies) answer.listed.push_back(std::move(listed));
    }
  }
  return answer;
}

// On random machines and jobs each engine gives the strategies, the counts and the prices that enumeration
// gives for as many instructions; and an engine that missed strategies of several instructions, or kept
// detours where none count, would be found out.
void expect_the_same_rankings(PlaceEngine engine, int levels, int cases) {
  constexpr int kStrategies = 150;  // all of two levels
  std::mt19937 random(11);
  std::map<Rules, StrategySolver> solvers;  // each set of strategies is asked for once
  int compared = 0, fewer = 0, other_rules = 0;
  for (int i = 0; compared < cases && i < 20 * cases; ++i) {
    Question q = random_question(random);
    if (static_cast<int>(q.hierarchy.levels.size()) > levels) continue;
    q.options.strategies = kStrategies;
    const auto rank = [&](const PlaceOptions& options, StrategySolver* solver) -> std::optional<Answer> {
      try {
        return answer_of(rank_placements(q.hierarchy, q.job, options, solver), kStrategies);
      } catch (const InputError&) {
        return std::nullopt;  // no matrix obeys the conditions
      }
    };
    PlaceOptions enumerated = q.options, solved = q.options;
    enumerated.most_instructions = kMostCounted;
    solved.engine = engine;
    StrategySolver& solver = solvers.try_emplace(q.options.rules, solved).first->second;
    const std::optional<Answer> expected = rank(enumerated, nullptr);
    EXPECT_EQ(rank(solved, &solver), expected) << i;
    if (!expected) continue;
    ++compared;
    enumerated.most_instructions = 1;
    fewer += rank(enumerated, nullptr) != expected;
    enumerated.most_instructions = kMostCounted;
    enumerated.rules = q.options.rules == Rules::Paper ? Rules::Full : Rules::Paper;
    other_rules += rank(enumerated, nullptr) != expected;
  }
  EXPECT_EQ(compared, cases);
  EXPECT_GT(fewer, cases / 8);
  EXPECT_GT(other_rules, levels > 1 ? 0 : -1);
  for (const auto& [rules, solver] : solvers) {
    EXPECT_TRUE(solver.report().complete);
    EXPECT_GT(solver.report().calls, solver.report().strategies);
  }
}

TEST(PlaceEngines, SatRanksAsEnumerationDoes) {
  expect_the_same_rankings(PlaceEngine::Sat, 2, 60);
}

// Two levels take Z3 a quarter of a minute.
TEST(PlaceEngines, SmtRanksAsEnumerationDoes) {
  expect_the_same_rankings(PlaceEngine::Smt, 1, 16);
}

// What a limit leaves is ranked, marked, and accepted by the check, which claims no more of it.
TEST(PlaceEngines, ALimitLeavesWhatWasFound) {
  std::mt19937 random(5);
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    Question q = random_question(random);
    q.options.conditions = {};  // which no matrix might obey
    q.options.engine = PlaceEngine::Sat;
    q.options.limits.conflicts = i % 3;
    const Ranking ranking = rank_placements(q.hierarchy, q.job, q.options);
    ASSERT_TRUE(ranking.solver);
    const Ranking read = ranking_from_json(to_json(ranking), "test");
    EXPECT_EQ(read.solver, ranking.solver);
    const RankingReport report = check_ranking(read);
    EXPECT_TRUE(report.faults.empty()) << report.faults.front().words << "\n" << to_json(ranking);
    if (ranking.solver->complete) continue;
    EXPECT_FALSE(ranking.solver->nothing_longer);
    found += !ranking.best.empty();
  }
  EXPECT_GT(found, 5);
}

std::vector<LoweredInstruction> all_instructions(const std::vector<int>& sizes) {
  std::vector<LoweredInstruction> instructions;
  for (const Grouping& grouping : all_groupings(sizes))
    for (Operation operation : kAllOperations) instructions.push_back({operation, grouping.groups});
  return instructions;
}

// Sequences that the verifier allows are satisfiable and no others, for levels that are not all 2 as well: a
// rule that were missing or wrong in either would show.
TEST(StrategyEncoding, AllowsWhatTheVerifierAllows) {
  for (const std::vector<int>& sizes : {std::vector<int>{1, 2, 2}, {1, 3}, {1, 3, 2}}) {
    const std::vector<LoweredInstruction> instructions = all_instructions(sizes);
    const int devices = sizes.size() == 2 ? sizes[1] : sizes[1] * sizes[2];
    std::vector<int> all(devices);
    for (int d = 0; d < devices; ++d) all[d] = d;
    // A formula for each length, since a last instruction may leave no next one.
    std::vector<std::pair<StrategyEncoding, std::unique_ptr<SatSolver>>> asked;
    for (int length = 1; length <= 3; ++length) {
      asked.emplace_back(StrategyEncoding(devices, instructions, {all}), make_solver());
      for (int t = 0; t < length; ++t) asked.back().first.extend();
      asked.back().second->add(asked.back().first.formula());
    }
    int legal = 0, illegal = 0;
    const auto go = [&](const auto& self, const ReductionState& state, std::vector<int>& so_far) -> void {
      if (so_far.size() == asked.size()) return;
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        ReductionState next = state;
        const bool allowed = !next.apply(instructions[i].operation, instructions[i].groups);
        so_far.push_back(static_cast<int>(i));
        const auto& [encoding, solver] = asked[so_far.size() - 1];
        std::vector<Lit> assumptions;
        for (std::size_t t = 0; t < so_far.size(); ++t)
          assumptions.push_back(encoding.chosen(static_cast<int>(t), so_far[t]));
        ASSERT_EQ(solver->solve(assumptions, {}), allowed ? Verdict::Sat : Verdict::Unsat);
        ++(allowed ? legal : illegal);
        if (allowed) self(self, next, so_far);
        so_far.pop_back();
      }
    };
    std::vector<int> none;
    go(go, ReductionState(devices), none);
    EXPECT_GT(legal, 3);
    EXPECT_GT(illegal, 3);
  }
}

// The formula's strategies over two levels, where `operation` is written by the rule of `rule`.
std::vector<Strategy> with_rule(Operation operation, Operation rule) {
  std::vector<LoweredInstruction> instructions = all_instructions({1, 2, 2});
  std::vector<StrategyInstruction> names;
  for (const Grouping& grouping : all_groupings({1, 2, 2}))
    for (int i = 0; i < kOperations; ++i) {
      names.push_back(grouping.name);
      names.back().operation = instructions[names.size() - 1].operation;
    }
  for (LoweredInstruction& instruction : instructions)
    if (instruction.operation == operation) instruction.operation = rule;
  StrategyEncoding encoding(4, instructions, {{0, 1, 2, 3}});
  const auto solver = make_solver();
  std::size_t told = 0;
  std::vector<Strategy> found;
  for (int length = 1; length <= 3; ++length) {
    encoding.extend();
    solver->add(encoding.formula(), told);
    told = encoding.formula().literals.size();
    const std::vector<Lit> goal = {encoding.at_goal(length)};
    while (solver->solve(goal, {}) == Verdict::Sat) {
      found.emplace_back();
      std::vector<Lit> clause;
      const std::vector<int> sequence = encoding.decode([&](Lit v) { return solver->value(v); }, length);
      for (int t = 0; t < length; ++t) {
        found.back().push_back(names[sequence[t]]);
        clause.push_back(-encoding.chosen(t, sequence[t]));
      }
      solver->add(clause);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// An injected wrong rule for any of the operations makes the sets differ.
TEST(StrategyEngines, AWrongRuleIsFoundOut) {
  std::vector<Strategy> right = all_strategies(*StrategySpace::of(2), Rules::Full, 3);
  std::sort(right.begin(), right.end());
  for (int operation = 0; operation < kOperations; ++operation)
    for (int rule = 0; rule < kOperations; ++rule) {
      const auto found = with_rule(static_cast<Operation>(operation), static_cast<Operation>(rule));
      EXPECT_EQ(found == right, operation == rule) << operation << " written as " << rule;
    }
}

}  // namespace
}  // namespace chorale
