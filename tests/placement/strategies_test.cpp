// Reduction strategies: the counts of P^2 (Xie et al. 2022), the theorem on synthesis hierarchies, and that
// what is found on the model is valid at true size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "placement/place.h"
#include "placement/strategy_space.h"
#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"

namespace chorale {
namespace {

using Form = StrategyInstruction::Form;
using Operation = StrategyInstruction::Operation;

std::vector<long long> up_to(const std::vector<long long>& counts) {
  std::vector<long long> sums(counts.size(), 0);
  for (std::size_t n = 1; n < counts.size(); ++n) sums[n] = sums[n - 1] + counts[n];
  return sums;
}

// Sections 4.2: 47 strategies of at most five instructions, and longer ones do not exist.
TEST(Strategies, CountsOfThePaper) {
  using Counts = std::vector<long long>;
  EXPECT_EQ(up_to(count_strategies(*StrategySpace::of(1), Rules::Paper, 5)), (Counts{0, 1, 3, 3, 3, 3}));
  EXPECT_EQ(up_to(count_strategies(*StrategySpace::of(2), Rules::Paper, 7)),
            (Counts{0, 1, 5, 27, 41, 47, 47, 47}));
  EXPECT_EQ(up_to(count_strategies(*StrategySpace::of(3), Rules::Paper, 10)),
            (Counts{0, 1, 7, 60, 284, 886, 1790, 2766, 3136, 3208, 3208}));
}

TEST(Strategies, LiteralRulesAllowDetours) {
  EXPECT_EQ(up_to(count_strategies(*StrategySpace::of(2), Rules::Full, 7)).back(), 110);
  EXPECT_EQ(all_strategies(*StrategySpace::of(2), Rules::Full, 5).size(), 110U);
}

// Table 2, on [(rack, 1), (server, 2), (CPU, 2), (GPU, 4)]: A0..A3 are devices 0..3, B 4..7, C 8..11, D
// 12..15.
TEST(Groups, OfTheRunningExample) {
  const std::vector<int> sizes = {1, 2, 2, 4};  // the rack is the root
  constexpr int rack = 0, server = 1, cpu = 2;
  EXPECT_EQ(groups_of(sizes, {.slice = cpu, .form = Form::InsideGroup}),
            (DeviceGroups{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
  EXPECT_EQ(groups_of(sizes, {.slice = cpu, .form = Form::Parallel, .ancestor = server}),
            (DeviceGroups{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}}));
  EXPECT_EQ(groups_of(sizes, {.slice = cpu, .form = Form::Parallel, .ancestor = rack}),
            (DeviceGroups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
  EXPECT_EQ(groups_of(sizes, {.slice = cpu, .form = Form::Master, .ancestor = rack}),
            (DeviceGroups{{0, 4, 8, 12}}));
  EXPECT_EQ(groups_of(sizes, {.slice = server, .form = Form::Parallel, .ancestor = rack}).size(), 8U);
  EXPECT_EQ(groups_of(sizes, {.slice = rack, .form = Form::InsideGroup}).front().size(), 16U);
  // Master is the first group below each ancestor.
  EXPECT_EQ(groups_of(sizes, {.slice = cpu, .form = Form::Master, .ancestor = server}),
            (DeviceGroups{{0, 4}, {8, 12}}));
}

TEST(Groups, TwoLevelsHaveFourGroupings) {
  EXPECT_EQ(all_groupings({1, 2, 2}).size(), 4U);
  EXPECT_EQ(all_groupings({1, 3, 5}).size(), 4U);
  EXPECT_EQ(all_groupings({1, 7}).size(), 1U);
}

// "Depends only on the number of levels": every strategy of the model is valid at every size up to 64
// devices, and none is missing, for which all sequences of instructions are tried on some small sizes.
TEST(Strategies, OfTheModelAreValidAtEverySize) {
  const auto one = all_strategies(*StrategySpace::of(1), Rules::Full, 5);
  const auto two = all_strategies(*StrategySpace::of(2), Rules::Full, 5);
  const auto three = all_strategies(*StrategySpace::of(3), Rules::Paper, 5);
  int checked = 0;
  for (int a = 2; a <= kMostVerifiedDevices; ++a) {
    for (const Strategy& strategy : one) {
      EXPECT_EQ(strategy_fault({1, a}, strategy), std::nullopt) << a;
      ++checked;
    }
    for (int b = 2; a * b <= kMostVerifiedDevices; ++b)
      for (const Strategy& strategy : two) {
        ASSERT_EQ(strategy_fault({1, a, b}, strategy), std::nullopt) << a << "x" << b;
        ++checked;
      }
  }
  for (const auto& sizes : {std::vector<int>{1, 2, 3, 4}, {1, 3, 2, 5}, {1, 4, 4, 2}, {1, 2, 2, 9}})
    for (const Strategy& strategy : three) {
      ASSERT_EQ(strategy_fault(sizes, strategy), std::nullopt);
      ++checked;
    }
  EXPECT_GT(checked, 20'000);
}

// All valid strategies over a hierarchy of these sizes, by trying everything; without the model.
std::set<LoweredStrategy> by_force(const SynthesisHierarchy& hierarchy, const ParallelismMatrix& matrix,
                                   const DeviceGroups& reduced, int devices, int most) {
  std::vector<LoweredInstruction> known;
  for (const Grouping& grouping : all_groupings(hierarchy.sizes()))
    for (Operation operation : kAllOperations) {
      StrategyInstruction instruction = grouping.name;
      instruction.operation = operation;
      LoweredInstruction lowered = lower(hierarchy, {instruction}, matrix).front();
      if (std::find(known.begin(), known.end(), lowered) == known.end()) known.push_back(std::move(lowered));
    }
  std::set<LoweredStrategy> found;
  const ReductionState goal = ReductionState::reduced(devices, reduced);
  const auto go = [&](const auto& self, const ReductionState& state, LoweredStrategy& so_far) -> void {
    for (const LoweredInstruction& instruction : known) {
      ReductionState next = state;
      if (next.apply(instruction.operation, instruction.groups)) continue;
      so_far.push_back(instruction);
      if (next == goal)
        found.insert(so_far);
      else if (static_cast<int>(so_far.size()) < most)
        self(self, next, so_far);
      so_far.pop_back();
    }
  };
  LoweredStrategy none;
  go(go, ReductionState(devices), none);
  return found;
}

// Does a Broadcast of the strategy act in some of the reduction's groups and not in others?
bool broadcasts_unevenly(const LoweredStrategy& strategy, const DeviceGroups& reduced) {
  return std::any_of(strategy.begin(), strategy.end(), [&](const LoweredInstruction& instruction) {
    if (instruction.operation != Operation::Broadcast) return false;
    std::set<int> acting;
    for (const std::vector<int>& group : instruction.groups) acting.insert(group.begin(), group.end());
    const auto acts = [&](const std::vector<int>& group) {
      return std::any_of(group.begin(), group.end(), [&](int device) { return acting.count(device) > 0; });
    };
    return !std::all_of(reduced.begin(), reduced.end(), acts);
  });
}

struct Case {
  Hierarchy hierarchy = {};
  std::vector<Axis> axes = {};
  ParallelismMatrix matrix = {};
  int devices = 1;
};

// A random matrix, and the hierarchy and axes that it belongs to.
Case random_case(std::mt19937& random, int most_devices) {
  while (true) {
    Case c;
    const int levels = 1 + static_cast<int>(random() % 3), axes = 1 + static_cast<int>(random() % 3);
    c.matrix.factors = std::vector(axes, std::vector<int>(levels, 1));
    for (auto& row : c.matrix.factors)
      for (int& factor : row) factor = std::vector<int>{1, 1, 2, 2, 3}[random() % 5];
    for (int j = 0; j < levels; ++j) {
      c.hierarchy.levels.push_back({.name = "l" + std::to_string(j)});
      for (int i = 0; i < axes; ++i) c.hierarchy.levels.back().fan_out *= c.matrix.factors[i][j];
      c.devices *= c.hierarchy.levels.back().fan_out;
    }
    for (int i = 0; i < axes; ++i) {
      c.axes.push_back({.name = "a" + std::to_string(i)});
      for (int factor : c.matrix.factors[i]) c.axes.back().size *= factor;
    }
    if (c.devices >= 2 && c.devices <= most_devices) return c;
  }
}

// Theorem 3.2: (d) >= (c) >= (b) >= (a). The proof overlooks one thing (lemma B.6): a Master may broadcast to
// the first of several reduction groups what a later Broadcast gives to all. (c) has such strategies and (d)
// does not; they are never cheaper, and the only exceptions.
TEST(SynthesisHierarchies, LaterOnesFindAllThatEarlierOnesFind) {
  std::mt19937 random(3);
  int with_strategies = 0, strictly_more = 0, exceptions = 0;
  for (int i = 0; i < 150; ++i) {
    const Case c = random_case(random, 12);
    const std::vector<int> axes = {static_cast<int>(random() % c.axes.size())};
    const DeviceGroups reduced = reduction_groups(c.matrix, axes);
    std::vector<std::set<LoweredStrategy>> found;
    for (SynthesisKind kind : {SynthesisKind::System, SynthesisKind::Columns, SynthesisKind::Rows,
                               SynthesisKind::ReductionAxes, SynthesisKind::Collapsed})
      found.push_back(by_force(synthesis_hierarchy(c.hierarchy, c.axes, c.matrix, axes, kind), c.matrix,
                               reduced, c.devices, 3));
    for (std::size_t k = 1; k < found.size(); ++k)
      for (const LoweredStrategy& strategy : found[k - 1]) {
        if (found[k].count(strategy) > 0) continue;
        ASSERT_TRUE(broadcasts_unevenly(strategy, reduced))
            << to_text(c.matrix) << " reducing axis " << axes[0] << ", hierarchy " << k;
        ++exceptions;
      }
    with_strategies += !found.front().empty();
    strictly_more += found.back().size() > found.front().size();
  }
  EXPECT_GT(with_strategies, 10);
  EXPECT_GT(strictly_more, 20);
  EXPECT_GT(exceptions, 0);
}

// What is searched by default finds exactly what trying everything finds.
TEST(SynthesisHierarchies, TheModelMissesNothing) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    const Case c = random_case(random, 16);
    std::vector<int> axes;
    for (int a = 0; a < static_cast<int>(c.axes.size()); ++a)
      if (random() % 2) axes.push_back(a);
    if (axes.empty()) axes.push_back(0);
    const SynthesisHierarchy collapsed =
        synthesis_hierarchy(c.hierarchy, c.axes, c.matrix, axes, SynthesisKind::Collapsed);
    const int levels = static_cast<int>(collapsed.levels.size()) - 1;
    if (levels == 0) continue;
    std::set<LoweredStrategy> modelled;
    for (const Strategy& strategy : all_strategies(*StrategySpace::of(levels), Rules::Full, 4))
      modelled.insert(lower(collapsed, strategy, c.matrix));
    const DeviceGroups reduced = reduction_groups(c.matrix, axes);
    EXPECT_EQ(modelled, by_force(collapsed, c.matrix, reduced, c.devices, 4)) << to_text(c.matrix);
    for (const LoweredStrategy& strategy : modelled)
      ASSERT_EQ(fault(c.devices, strategy, reduced), std::nullopt);
  }
}

// What is searched over another hierarchy is all that trying everything over that one finds, but for
// broadcasts by a Master to some of the reduction's groups, which a later instruction repeats.
TEST(SynthesisHierarchies, EachIsSearchedWhole) {
  std::mt19937 random(7);
  std::map<SynthesisKind, int> found;
  for (int i = 0; i < 60; ++i) {
    const Case c = random_case(random, 12);
    const std::vector<int> axes = {static_cast<int>(random() % c.axes.size())};
    const DeviceGroups reduced = reduction_groups(c.matrix, axes);
    const SynthesisHierarchy collapsed =
        synthesis_hierarchy(c.hierarchy, c.axes, c.matrix, axes, SynthesisKind::Collapsed);
    const int levels = static_cast<int>(collapsed.levels.size()) - 1;
    if (levels == 0) continue;
    const std::vector<int> each(static_cast<std::size_t>(levels), 1);
    for (const SynthesisKind kind :
         {SynthesisKind::System, SynthesisKind::Columns, SynthesisKind::Rows, SynthesisKind::ReductionAxes}) {
      const auto space = StrategySpace::of(levels, groupings_of_kind(kind, c.matrix, axes, each));
      std::set<LoweredStrategy> searched;
      for (const Strategy& strategy : all_strategies(*space, Rules::Full, 4))
        searched.insert(lower(collapsed, strategy, c.matrix));
      std::set<LoweredStrategy> tried = by_force(
          synthesis_hierarchy(c.hierarchy, c.axes, c.matrix, axes, kind), c.matrix, reduced, c.devices, 4);
      std::erase_if(tried,
                    [&](const LoweredStrategy& each_one) { return broadcasts_unevenly(each_one, reduced); });
      ASSERT_EQ(searched, tried) << to_text(c.matrix) << " reducing axis " << axes[0] << ", "
                                 << name_of(kind);
      found[kind] += searched.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(found[SynthesisKind::System], 2);
  EXPECT_GT(found[SynthesisKind::Columns], found[SynthesisKind::System]);
  EXPECT_GT(found[SynthesisKind::Rows], 25);
}

// Over a richer hierarchy the best is no more expensive, for any goal and any number of reduction axes, and
// there are as many strategies or more.
TEST(SynthesisHierarchies, ARicherOneIsNeverWorse) {
  std::mt19937 random(13);
  int better = 0, none = 0;
  for (int i = 0; i < 150; ++i) {
    Case c = random_case(random, 48);
    for (Level& level : c.hierarchy.levels)
      level.link = {.bandwidth_gbs = 1.0 + static_cast<double>(random() % 20),
                    .latency_us = static_cast<double>(random() % 5)};
    std::vector<int> axes;
    for (int a = 0; a < static_cast<int>(c.axes.size()); ++a)
      if (random() % 2 != 0) axes.push_back(a);
    if (axes.empty()) axes.push_back(0);
    const Job job{.axes = c.axes,
                  .reductions = {{.goal = kAllGoals[random() % 3], .axes = axes, .bytes = 1e5}}};
    if (synthesis_hierarchy(c.hierarchy, c.axes, c.matrix, axes, SynthesisKind::Collapsed).levels.size() == 1)
      continue;
    double before = std::numeric_limits<double>::infinity();
    std::vector<long long> counts;
    for (const auto& [kind, name] : kSynthesisChoices) {
      const ReductionRanking ranking = rank_strategies(c.hierarchy, job, 0, c.matrix, {.synthesis = kind});
      const double us = ranking.strategies.empty() ? std::numeric_limits<double>::infinity()
                                                   : ranking.strategies.front().us;
      EXPECT_LE(us, before * (1 + 1e-12)) << to_text(c.matrix) << ", " << name;
      better += us < before && std::isfinite(before);
      none += std::isinf(us);
      before = us;
      counts.assign(ranking.programs_over.begin(), ranking.programs_over.end());
      EXPECT_EQ(ranking.strategies.empty() || job.reductions[0].goal != Goal::AllReduce,
                ranking.programs == 0);
    }
    EXPECT_TRUE(std::ranges::is_sorted(counts)) << to_text(c.matrix);
    EXPECT_LT(before, std::numeric_limits<double>::infinity());
  }
  EXPECT_GT(better, 0);
  EXPECT_GT(none, 10);
}

// At its smallest: one level, one axis, where all are the same; two axes in one level, which the machine's
// levels cannot distinguish; and (b) apart from (c), where another axis lies between two factors.
TEST(SynthesisHierarchies, AtTheirSmallest) {
  const auto programs = [](const ParallelismMatrix& matrix, Rules rules = Rules::Paper) {
    Hierarchy machine;
    std::vector<Axis> axes;
    for (std::size_t j = 0; j < matrix.factors.front().size(); ++j)
      machine.levels.push_back({.name = "l" + std::to_string(j)});
    for (std::size_t i = 0; i < matrix.factors.size(); ++i) {
      axes.push_back({.name = std::to_string(i)});
      for (std::size_t j = 0; j < machine.levels.size(); ++j) {
        axes.back().size *= matrix.factors[i][j];
        machine.levels[j].fan_out *= matrix.factors[i][j];
      }
    }
    const Job job{.axes = axes, .reductions = {{.axes = {0}, .bytes = 1e6}}};
    return rank_strategies(machine, job, 0, matrix, {.rules = rules}).programs_over;
  };
  using Counts = std::array<long long, 4>;
  EXPECT_EQ(programs({.factors = {{2}}}), (Counts{3, 3, 3, 3}));
  EXPECT_EQ(programs({.factors = {{2}, {2}}}), (Counts{0, 3, 3, 3}));
  EXPECT_EQ(programs({.factors = {{2, 2}}}), (Counts{47, 47, 47, 47}));
  // Slices and ancestors that leave the second axis alone are at the end of (b) and (c), but no Master is.
  EXPECT_EQ(programs({.factors = {{2}, {1}}}), (Counts{3, 3, 3, 3}));
  const Counts apart = programs({.factors = {{2, 2}, {2, 1}}}), full = programs({.factors = {{2, 2}}});
  EXPECT_EQ(apart[0], 0);
  EXPECT_GT(apart[1], 0);
  EXPECT_LT(apart[1], apart[2]);
  EXPECT_LT(apart[2], apart[3]);
  EXPECT_EQ(apart[3], full[3]);
}

// Cheapest first, and the first no more expensive than any strategy there is.
TEST(Cheapest, AreTheCheapestOfAll) {
  std::mt19937 random(11);
  for (Rules rules : {Rules::Paper, Rules::Full})
    for (int levels = 1; levels <= 3; ++levels) {
      const auto space = StrategySpace::of(levels);
      std::vector<double> prices;
      for (std::size_t i = 0; i < space->charges().size(); ++i)
        prices.push_back(1 + static_cast<double>(random() % 1000));
      const int most = levels == 3 ? (rules == Rules::Paper ? 9 : 6) : 8;
      std::vector<double> all;
      std::map<Strategy, double> price_of;
      const auto go = [&](const auto& self, int state, double price, Strategy& so_far) -> void {
        if (state == space->goal()) {
          price_of[so_far] = price;
          return;
        }
        if (static_cast<int>(so_far.size()) == most) return;
        for (const StrategySpace::Edge& edge : space->edges(state)) {
          so_far.push_back(edge.instruction);
          self(self, edge.to, price + prices[edge.charge], so_far);
          so_far.pop_back();
        }
      };
      Strategy none;
      go(go, space->start(), 0, none);
      for (const Strategy& strategy : all_strategies(*space, rules, most))
        all.push_back(price_of.at(strategy));
      std::sort(all.begin(), all.end());
      const auto cheapest = cheapest_strategies(*space, prices, rules, 10);
      ASSERT_EQ(cheapest.size(), std::min<std::size_t>(10, all.size()));
      for (std::size_t i = 0; i < cheapest.size(); ++i) {
        EXPECT_DOUBLE_EQ(cheapest[i].price, all[i]) << levels << " levels, number " << i;
        EXPECT_DOUBLE_EQ(cheapest[i].price, price_of.at(cheapest[i].instructions));
      }
    }
}

}  // namespace
}  // namespace chorale
