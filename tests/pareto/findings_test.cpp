// What is composed of what was found.
#include "pareto/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/engine/solved_question.h"
#include "graph/embedding.h"
#include "pareto/search.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// 840 rounds are the bound of 1,120 chunks on a ring of four. A schedule of 4 steps has 5 % more. Phases that
// take 6 steps and meet the bound are no trifle beside it: what counts is what is left over the bound.
TEST(Findings, WhatMeetsTheBoundIsNoTrifle) {
  const Topology ring = flatten(named_topology("ring:4"));
  constexpr int kFiner = 140;
  const Collective sum = make_collective("allreduce", 4, 1);
  const Result gathers = search_frontier(ring, make_collective("allgather", 4, 1), {});
  ASSERT_EQ(gathers.points.size(), 1u);
  Point gather = gathers.points[0];
  ASSERT_EQ(gather.cost, (Cost{.steps = 2, .rounds = 3, .chunks = 2}));
  gather.schedule = cut_finer(gather.schedule, kFiner);
  gather.cost = {.steps = 2, .rounds = 3 * kFiner, .chunks = 2 * kFiner};
  gather.collective = of_kind(sum, CollectiveKind::Allgather, gather.cost.chunks);

  Findings findings(ring, sum, {});
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::Allgather}) {
    const Collective one = of_kind(sum, kind, 1);
    findings.put(of_any_chunks(ring, one, LowerBounds(ring, one).fewest_rounds()));
  }
  const Collective scatter = of_kind(sum, CollectiveKind::ReduceScatter, gather.cost.chunks);
  const Point turned = mirrored(gather, scatter, *mirror_of(ring));
  Point wasteful{.cost = {.steps = 4, .rounds = 6 * kFiner + 42, .chunks = 8 * kFiner},
                 .collective = of_kind(sum, CollectiveKind::AllReduce, 8 * kFiner),
                 .schedule = sequence(turned.schedule, gather.schedule)};
  wasteful.schedule.steps.back().rounds += 42;
  findings.put(CollectiveKind::AllReduce, std::make_shared<const Point>(wasteful));

  // The last step, half by half.
  Step& step = gather.schedule.steps.back();
  ASSERT_EQ(step.rounds % 2, 0);
  Step half{.rounds = step.rounds / 2};
  std::vector<int> seen(ring.links.size(), 0);
  std::vector<Send> first;
  for (const Send& send : step.sends) (++seen[send.link] <= half.rounds ? first : half.sends).push_back(send);
  step = {.rounds = half.rounds, .sends = first};
  gather.schedule.steps.push_back(half);
  gather.cost.steps = 3;
  const Point back = mirrored(gather, scatter, *mirror_of(ring));
  findings.put(CollectiveKind::Allgather, std::make_shared<const Point>(gather));
  findings.put(CollectiveKind::ReduceScatter, std::make_shared<const Point>(back));

  const Result result = findings.result(Stopped::No, 0);
  ASSERT_EQ(result.points.size(), 3u);  // the first gathers whole vectors
  EXPECT_EQ(result.points[1].cost, wasteful.cost);
  EXPECT_EQ(result.points[2].cost, (Cost{.steps = 6, .rounds = 6 * kFiner, .chunks = 8 * kFiner}));
}

// On a ring of four, vectors of two chunks are gathered in 2 steps of 3 rounds, whole ones in 2 of 2 rounds:
// more per chunk, in half as many messages. Where a message is what takes time, that is the fastest,
// whichever comes first.
TEST(Findings, FewMessagesAreKeptWhereTheyAreTheFastest) {
  const Topology ring = flatten(named_topology("ring:4"));
  const Collective sum = make_collective("allreduce", 4, 1);
  std::vector<SharedPoint> gathers;
  for (const int chunks : {1, 2}) {
    const Result found = search_frontier(ring, make_collective("allgather", 4, 1),
                                         {.min_chunks = chunks, .max_chunks = chunks});
    ASSERT_FALSE(found.points.empty());
    Point gather = found.points[0];
    gather.collective = of_kind(sum, CollectiveKind::Allgather, chunks);
    ASSERT_EQ(gather.cost, (Cost{.steps = 2, .rounds = chunks + 1, .chunks = chunks}));
    gathers.push_back(std::make_shared<const Point>(gather));
  }
  const auto us = [](const Point& point, double) {
    double sends = 0;
    for (const Step& step : point.schedule.steps) sends += static_cast<double>(step.sends.size());
    return sends;
  };
  for (const std::array order : {std::array{0, 1}, std::array{1, 0}}) {
    Findings findings(ring, sum, {.us = us, .sizes = {1024}});
    for (const int i : order) {
      findings.put(CollectiveKind::Allgather, gathers[i]);
      findings.time(1e6);
    }
    const Result result = findings.result(Stopped::No, 0);
    ASSERT_EQ(result.points.size(), 2u);
    EXPECT_EQ(result.points[0].cost, (Cost{.steps = 2, .rounds = 3, .chunks = 2}));
    EXPECT_EQ(result.points[1].cost, (Cost{.steps = 2, .rounds = 2, .chunks = 1}));
  }
}

// When the search is stopped, little is timed: what is small was timed as it came.
TEST(Findings, SmallPointsAreTimedAsTheyCome) {
  const Topology ring = flatten(named_topology("ring:4"));
  const Collective gather = make_collective("allgather", 4, 1);
  const Result found = search_frontier(ring, gather, {.min_chunks = 1, .max_chunks = 1});
  ASSERT_FALSE(found.points.empty());
  int timed = 0;
  Findings findings(ring, gather,
                    {.us = [&](const Point&, double) { return ++timed; }, .sizes = {1024, 4096}});
  findings.put(CollectiveKind::Allgather, std::make_shared<const Point>(found.points[0]));
  EXPECT_EQ(timed, 2);
}

// 4,800 sends are too many to be timed as they come. Where times say that many sends are fast, they
// are faster than the fewer rounds per chunk that dominate them, which is known once they are
// timed: after the search.
TEST(Findings, WhatOthersDominateIsTimedAfterTheSearch) {
  const Topology ring = flatten(named_topology("ring:4"));
  const Collective gather = make_collective("allgather", 4, 1);
  const Result one = search_frontier(ring, gather, {.min_chunks = 1, .max_chunks = 1});
  const Result two = search_frontier(ring, gather, {.min_chunks = 2, .max_chunks = 2});
  ASSERT_FALSE(one.points.empty() || two.points.empty());
  constexpr int kFiner = 600;
  Point slow = one.points[0];
  slow.schedule = cut_finer(slow.schedule, kFiner);
  slow.cost = {.steps = 2, .rounds = 2 * kFiner, .chunks = kFiner};
  slow.collective = with_chunks(gather, kFiner);
  ASSERT_EQ(two.points[0].cost, (Cost{.steps = 2, .rounds = 3, .chunks = 2}));
  for (const bool may_time : {true, false}) {
    std::atomic<bool> stop = false;
    const std::atomic<bool> timing_stop = !may_time;
    FrontierOptions options{
        .us = [](const Point& point,
                 double) { return 1.0 / static_cast<double>(total_sends(point.schedule)); },
        .sizes = {1024},
        .timing_stop = &timing_stop};
    options.synthesis.limits.stop = &stop;
    Findings findings(ring, gather, options);
    findings.put(CollectiveKind::Allgather, std::make_shared<const Point>(slow));
    findings.put(CollectiveKind::Allgather, std::make_shared<const Point>(two.points[0]));
    stop = true;
    EXPECT_EQ(findings.result(Stopped::TimeLimit, 0).points.size(), may_time ? 2u : 1u);
  }
}

// Once the search is stopped, only compositions are made that take no time. One of 28,000 chunks takes some,
// and one of 16 in more steps does not have to wait for it.
TEST(Findings, ALargeCompositionLeavesTheSmallOnesBehindIt) {
  const Topology ring = flatten(named_topology("ring:4"));
  const Collective sum = make_collective("allreduce", 4, 1);
  const Result gathers = search_frontier(ring, make_collective("allgather", 4, 1), {});
  ASSERT_FALSE(gathers.points.empty());
  Point small = gathers.points[0];
  ASSERT_EQ(small.cost, (Cost{.steps = 2, .rounds = 3, .chunks = 2}));
  constexpr int kFiner = 7000;
  Point large = small;
  large.schedule = cut_finer(large.schedule, kFiner);
  large.cost = {.steps = 2, .rounds = 3 * kFiner, .chunks = 2 * kFiner};
  // The step of two rounds in two.
  const auto two = std::ranges::find(small.schedule.steps, 2, &Step::rounds);
  ASSERT_NE(two, small.schedule.steps.end());
  Step half{.rounds = 1};
  std::vector<int> seen(ring.links.size(), 0);
  std::vector<Send> first;
  for (const Send& send : two->sends) (++seen[send.link] <= 1 ? first : half.sends).push_back(send);
  *two = {.rounds = 1, .sends = first};
  small.schedule.steps.insert(std::next(two), half);
  small.cost.steps = 3;

  std::atomic<bool> stop = false;
  FrontierOptions options;
  options.synthesis.limits.stop = &stop;
  Findings findings(ring, sum, options);
  stop = true;
  for (Point* const gather : {&large, &small}) {
    gather->collective = of_kind(sum, CollectiveKind::Allgather, gather->cost.chunks);
    const Collective scatter = of_kind(sum, CollectiveKind::ReduceScatter, gather->cost.chunks);
    findings.put(CollectiveKind::ReduceScatter,
                 std::make_shared<const Point>(mirrored(*gather, scatter, *mirror_of(ring))));
    findings.put(CollectiveKind::Allgather, std::make_shared<const Point>(*gather));
  }
  const Result result = findings.result(Stopped::TimeLimit, 0);
  EXPECT_TRUE(std::ranges::any_of(result.points, [](const Point& point) {
    return point.cost == Cost{.steps = 6, .rounds = 6, .chunks = 8};
  }));
}

}  // namespace
}  // namespace chorale
