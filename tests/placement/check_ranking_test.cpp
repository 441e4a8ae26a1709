#include "placement/check_ranking.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <random>

#include "placement/place.h"
#include "tests/placement/random_question.h"

namespace chorale {
namespace {

using testing::HasSubstr;

bool is_asked_in_vain(const Question& q) {
  try {
    return rank_placements(q.hierarchy, q.job, q.options).best.empty();
  } catch (const std::exception&) {
    return true;  // no matrix obeys the conditions
  }
}

// What is written comes back, and is true.
TEST(CheckRanking, AcceptsWhatPlaceWrites) {
  std::mt19937 random(3);
  int checked = 0, strategies = 0;
  for (int i = 0; i < 120; ++i) {
    const Question q = random_question(random);
    if (is_asked_in_vain(q)) continue;
    const Ranking ranking = rank_placements(q.hierarchy, q.job, q.options);
    const Ranking read = ranking_from_json(to_json(ranking), "test");
    EXPECT_EQ(read.best, ranking.best);
    EXPECT_EQ(read.conditions, ranking.conditions);
    EXPECT_EQ(to_json(read), to_json(ranking));
    const RankingReport report = check_ranking(read);
    EXPECT_TRUE(report.faults.empty()) << report.faults.front().words << "\n" << to_json(ranking);
    EXPECT_EQ(report.matrices, ranking.matrices);
    strategies += report.strategies;
    ++checked;
  }
  EXPECT_GT(checked, 80);
  EXPECT_GT(strategies, 100);
}

// Every number and every word that could be forged, on a job that has one of each goal.
TEST(CheckRanking, RefusesForgedOnes) {
  const Hierarchy machine = {.name = "m",
                             .levels = {{"rack", 2, {.bandwidth_gbs = 5, .latency_us = 9}},
                                        {"node", 2, {.bandwidth_gbs = 10, .latency_us = 5}},
                                        {"gpu", 4, {.bandwidth_gbs = 100, .latency_us = 1}}},
                             .node_level = 2};
  Job job{.axes = {{"a", 8}, {"b", 2}}};
  for (const Goal goal : kAllGoals)
    job.reductions.push_back({.name = name(goal), .goal = goal, .axes = {0}, .bytes = 1e6});
  const Ranking honest = rank_placements(
      machine, job, {.strategies = 8, .own = parse_strategy("(root, InsideGroup, AllReduce)", "test")});
  ASSERT_TRUE(check_ranking(honest).faults.empty());
  ASSERT_GE(honest.best.size(), 3U);
  ASSERT_LT(honest.best[0].reductions[0].strategies.front().us,
            honest.best[0].reductions[0].strategies.back().us);
  const auto strategy = [](Ranking& r) -> RankedStrategy& { return r.best[0].reductions[0].strategies[0]; };
  const std::vector<std::pair<std::string, std::function<void(Ranking&)>>> forgeries = {
      {"", [](Ranking& r) { r.best[0].us *= 0.99; }},
      {"", [](Ranking& r) { r.best[0].allreduce_us *= 1.01; }},
      {"less than the one before", [](Ranking& r) { std::swap(r.best[0], r.best[1]); }},
      {"is there twice", [](Ranking& r) { r.best[1] = r.best[0]; }},
      {"next best", [](Ranking& r) { r.best.erase(r.best.begin()); }},
      {"multiply to",
       [](Ranking& r) { std::swap(r.best[0].matrix.factors[0], r.best[0].matrix.factors[1]); }},
      {"multiply to", [](Ranking& r) { r.best[0].matrix.factors[0][0] *= 2; }},
      {"fit, not", [](Ranking& r) { r.matrices = r.priced = r.matrices + 1; }},
      {"than fit", [](Ranking& r) { ++r.priced; }},
      {"without a strategy", [](Ranking& r) { r.without_strategy = 1; }},
      {"conditions", [](Ranking& r) { r.conditions.inside.push_back({.axis = 0, .level = 0}); }},
      {"", [&](Ranking& r) { strategy(r).us *= 0.5; }},
      {"", [&](Ranking& r) { strategy(r).instructions[0].us *= 0.5; }},
      {"", [&](Ranking& r) { strategy(r).instructions[0].latency_us += 1; }},
      {"", [&](Ranking& r) { strategy(r).instructions[0].binding = "luck"; }},
      {"", [&](Ranking& r) { ++strategy(r).instructions[0].rings; }},
      {"",
       [&](Ranking& r) {
         strategy(r).instructions.pop_back();
         strategy(r).lowered.pop_back();
       }},
      {"",
       [&](Ranking& r) {
         strategy(r).instructions[0].instruction.operation = StrategyInstruction::Operation::AllGather;
       }},
      {"other groups",
       [&](Ranking& r) { std::swap(strategy(r).lowered[0].groups[0], strategy(r).lowered[0].groups[1]); }},
      {"",
       [&](Ranking& r) {
         std::swap(r.best[0].reductions[0].strategies.front(), r.best[0].reductions[0].strategies.back());
       }},
      {"next cheapest",
       [](Ranking& r) {
         auto& all = r.best[0].reductions[0].strategies;
         all.erase(all.begin(), all.end() - 1);
       }},
      {"is there twice",
       [](Ranking& r) {
         auto& all = r.best[0].reductions[0].strategies;
         all[1] = all[0];
       }},
      {"has no strategy", [](Ranking& r) { r.best[0].reductions[0].strategies.clear(); }},
      {"of at most", [](Ranking& r) { ++r.best[0].reductions[0].programs; }},
      {"of at most", [](Ranking& r) { --r.best[0].reductions[0].faster; }},
      {"of at most", [](Ranking& r) { ++r.best[0].reductions[0].programs_over[1]; }},
      {"not over the levels", [](Ranking& r) { r.best[0].reductions[0].levels.back() = "hub"; }},
      {"not over the levels", [](Ranking& r) { r.best[0].reductions[0].sizes.back() += 1; }},
      {"single instruction", [](Ranking& r) { r.best[0].reductions[1].allreduce_us *= 2; }},
      {"", [](Ranking& r) { r.best[0].reductions[1].strategies = r.best[0].reductions[2].strategies; }},
      {"only gather",
       [](Ranking& r) { r.best[0].reductions[2].strategies = r.best[0].reductions[1].strategies; }},
      {"one step", [](Ranking& r) { r.best[0].reductions[3].exchange->us *= 2; }},
      {"one step", [](Ranking& r) { r.best[0].reductions[4].exchange->binding = "luck"; }},
      {"one step", [](Ranking& r) { r.best[0].reductions[4].exchange.reset(); }},
      {"user's strategy", [](Ranking& r) { r.best[0].reductions[0].own->priced.us *= 0.5; }},
      {"", [](Ranking& r) { r.algorithm = "tree"; }},
      {"", [](Ranking& r) { r.rules = "paper"; }},
      {"", [](Ranking& r) { r.hierarchy.levels[1].link.bandwidth_gbs *= 2; }},
      {"", [](Ranking& r) { r.job.reductions[0].bytes *= 2; }},
  };
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    Ranking forged = honest;
    forgeries[i].second(forged);
    const RankingReport report = check_ranking(forged);
    ASSERT_FALSE(report.faults.empty()) << "forgery " << i;
    EXPECT_THAT(report.faults.front().words, HasSubstr(forgeries[i].first)) << "forgery " << i;
    EXPECT_EQ(report.faults.front().words.find('\n'), std::string::npos);
  }
}

const Hierarchy kTwoLevels = {
    .name = "m",
    .levels = {{"node", 4, {.bandwidth_gbs = 5}}, {"gpu", 4, {.bandwidth_gbs = 50}}},
    .node_level = 1};

TEST(CheckRanking, RefusesForgedOverlaps) {
  const Job job{.axes = {{"a", 4}, {"b", 4}},
                .reductions = {{.name = "r", .axes = {0}, .bytes = 1e6},
                               {.name = "s", .axes = {1}, .bytes = 1e6, .after = std::vector<int>()}}};
  // b stays inside of nodes, so a is between them.
  const Ranking honest =
      rank_placements(kTwoLevels, job, {.conditions = {.inside = {{.axis = 1, .level = 0}}}});
  ASSERT_TRUE(check_ranking(honest).faults.empty());
  ASSERT_LT(honest.best[0].us, honest.best[0].one_by_one_us);
  for (double RankedMatrix::*const number :
       {&RankedMatrix::us, &RankedMatrix::one_by_one_us, &RankedMatrix::allreduce_us}) {
    Ranking forged = honest;
    forged.best[0].*number *= 0.9;
    EXPECT_FALSE(check_ranking(forged).faults.empty());
  }
  for (double ReductionRanking::*const number : {&ReductionRanking::from_us, &ReductionRanking::to_us}) {
    Ranking forged = honest;
    forged.best[0].reductions[1].*number += 1;
    EXPECT_FALSE(check_ranking(forged).faults.empty());
  }
  Ranking forged = honest;
  forged.job.reductions[1].after.reset();
  EXPECT_FALSE(check_ranking(forged).faults.empty());
}

// A cheaper hierarchy than the one that is named is no excuse.
TEST(CheckRanking, KnowsWhichHierarchyAStrategyIsOf) {
  const Job job{.axes = {{"a", 4}, {"b", 4}}, .reductions = {{.name = "r", .axes = {0}, .bytes = 1e6}}};
  Ranking ranking = rank_placements(kTwoLevels, job, {.strategies = 50});
  ranking.synthesis = "columns";
  const RankingReport report = check_ranking(ranking);
  ASSERT_FALSE(report.faults.empty());
  EXPECT_TRUE(std::ranges::any_of(report.faults, [](const Fault& fault) {
    return fault.words.find("none of the hierarchy 'columns'") != std::string::npos;
  }));
}

// What a limit has cut reports it, and nothing is claimed of the rest.
TEST(CheckRanking, BelievesACutRankingToBeOne) {
  const Job job{.axes = {{"a", 4}, {"b", 4}}, .reductions = {{.name = "r", .axes = {1}, .bytes = 1e6}}};
  const Ranking cut = rank_placements(kTwoLevels, job, {.progress = [](int done, int) { return done < 1; }});
  ASSERT_EQ(cut.priced, 1);
  EXPECT_TRUE(check_ranking(cut).faults.empty());
  Ranking whole = cut;
  whole.priced = whole.matrices;
  EXPECT_FALSE(check_ranking(whole).faults.empty());
}

}  // namespace
}  // namespace chorale
