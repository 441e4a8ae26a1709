// The three engines return the same strategies, and an engine with a wrong rule is found out.
#include "placement/engines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "encoder/strategy_encoding.h"
#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"

namespace chorale {
namespace {

using Operation = StrategyInstruction::Operation;

void expect_same(int levels, Rules rules, int most, StrategyEngine engine, std::size_t count,
                 bool nothing_longer) {
  const StrategySet found = find_strategies(levels, rules, most, engine);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.nothing_longer, nothing_longer);
  EXPECT_EQ(found.strategies.size(), count);
  EXPECT_EQ(found.strategies, find_strategies(levels, rules, most, StrategyEngine::Enumeration).strategies);
}

TEST(StrategyEngines, SatFindsTheSame) {
  expect_same(1, Rules::Paper, 3, StrategyEngine::Sat, 3, true);
  expect_same(2, Rules::Paper, 6, StrategyEngine::Sat, 47, true);
  expect_same(2, Rules::Full, 6, StrategyEngine::Sat, 110, true);
  expect_same(3, Rules::Paper, 3, StrategyEngine::Sat, 60, false);
  expect_same(3, Rules::Full, 3, StrategyEngine::Sat, 80, false);
}

TEST(StrategyEngines, SmtFindsTheSame) {
  expect_same(1, Rules::Paper, 3, StrategyEngine::Smt, 3, true);
  expect_same(2, Rules::Full, 3, StrategyEngine::Smt, 35, false);
  expect_same(3, Rules::Paper, 2, StrategyEngine::Smt, 7, false);
}

TEST(StrategyEngines, ExplorationKnowsThatNothingIsLonger) {
  EXPECT_FALSE(find_strategies(2, Rules::Paper, 4, StrategyEngine::Enumeration).nothing_longer);
  EXPECT_TRUE(find_strategies(2, Rules::Paper, 5, StrategyEngine::Enumeration).nothing_longer);
  EXPECT_TRUE(find_strategies(2, Rules::Full, 5, StrategyEngine::Enumeration).nothing_longer);
  EXPECT_FALSE(find_strategies(3, Rules::Paper, 8, StrategyEngine::Enumeration).nothing_longer);
  EXPECT_TRUE(find_strategies(3, Rules::Paper, 9, StrategyEngine::Enumeration).nothing_longer);
}

TEST(StrategyEngines, ALimitIsNoProof) {
  const StrategySet found = find_strategies(2, Rules::Paper, 5, StrategyEngine::Sat, {.conflicts = 0});
  EXPECT_FALSE(found.complete);
  EXPECT_FALSE(found.nothing_longer);
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
  std::vector<Strategy> right = find_strategies(2, Rules::Full, 3, StrategyEngine::Enumeration).strategies;
  std::sort(right.begin(), right.end());
  for (int operation = 0; operation < kOperations; ++operation)
    for (int rule = 0; rule < kOperations; ++rule) {
      const auto found = with_rule(static_cast<Operation>(operation), static_cast<Operation>(rule));
      EXPECT_EQ(found == right, operation == rule) << operation << " written as " << rule;
    }
}

}  // namespace
}  // namespace chorale
