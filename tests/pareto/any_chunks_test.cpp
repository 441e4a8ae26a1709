// Of any chunk count: what is found, what is claimed of all of them, and false claims.
#include <gtest/gtest.h>

#include <algorithm>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "pareto/check.h"
#include "pareto/optimality.h"
#include "pareto/pareto_set.h"
#include "pareto/search.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

Result any_chunks_search(const std::string& machine, const std::string& name, FrontierOptions options = {}) {
  const Topology topology = flatten(named_topology(machine));
  return search_frontier(topology, make_collective(name, topology.ranks, 1), options);
}

Rate rate_of(const Point& point) {
  return {.rounds = point.cost.rounds, .chunks = point.cost.chunks};
}

bool equal(const Rate& a, const Rate& b) {
  return !less(a, b) && !less(b, a);
}

void expect_right(const Result& result) {
  const CheckReport report = check_result(result, "", {});
  EXPECT_EQ(report.faults, std::vector<Fault>{});
  EXPECT_EQ(report.undecided, 0);
}

// Each rank takes in and passes on 7/8 of the vector over six links: twice 7/(8*6) rounds per chunk, which
// the classic tables have for 48 chunks. Fewer steps than six with as few rounds are excluded by nothing.
TEST(AnyChunksLong, Dgx1AllReduceByDefault) {
  const Result result = any_chunks_search("dgx1", "allreduce");
  expect_right(result);
  EXPECT_EQ(rate_bound(result), (Rate{.rounds = 7, .chunks = 24}));
  ASSERT_FALSE(result.points.empty());
  EXPECT_TRUE(equal(rate_of(result.points.back()), {.rounds = 7, .chunks = 24}));
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.stopped, Stopped::ChunkCounts);
  EXPECT_GE(result.complete_chunks, 1);
}

// Three foreign blocks come over two links, and half of one may come either way: 3/2 in two steps, which the
// distance takes.
TEST(AnyChunks, CompleteIsOfAllOfThem) {
  const Result result = any_chunks_search("ring:4", "allgather");
  expect_right(result);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.complete_chunks, kAnyChunks);
  ASSERT_EQ(result.points.size(), 1u);
  EXPECT_EQ(result.points[0].cost, (Cost{.steps = 2, .rounds = 3, .chunks = 2}));
  EXPECT_TRUE(result.points[0].proven);
}

// Two steps of dgx1 have another rate than three, for any chunk count (time-expanded flows).
TEST(AnyChunks, FewStepsHaveARateOfTheirOwn) {
  const Result result = any_chunks_search("dgx1", "allgather");
  expect_right(result);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.points.size(), 2u);
}

void expect_as_good(const Result& more, const Result& less_asked) {
  for (const Point& point : less_asked.points)
    EXPECT_TRUE(std::ranges::any_of(more.points,
                                    [&](const Point& p) {
                                      return p.cost.steps <= point.cost.steps &&
                                             compare_rate(p.cost, point.cost) <= 0;
                                    }))
        << point.cost.steps << " steps, " << point.cost.rounds << " rounds, " << point.cost.chunks
        << " chunks";
}

// More chunks, up to any number, and more conflicts: never less.
TEST(AnyChunksLong, AskingForMoreFindsNoLess) {
  for (const char* machine : {"hub:4", "ring:3"})
    for (const char* name : {"allreduce", "broadcast"}) {
      SCOPED_TRACE(std::string(machine) + " " + name);
      Result before;
      for (const int chunks : {1, 2, 4, kAnyChunks}) {
        const Result now = any_chunks_search(
            machine, name, {.max_chunks = chunks, .synthesis = {.limits = {.conflicts = 20}}});
        expect_as_good(now, before);
        before = now;
      }
      for (const int conflicts : {0, 60}) {
        const Result now =
            any_chunks_search(machine, name, {.synthesis = {.limits = {.conflicts = conflicts}}});
        if (conflicts == 0)
          expect_as_good(before, now);
        else
          expect_as_good(now, before);
      }
    }
}

// A claim about one chunk count implies nothing about another, however many there are; and what is reported
// of all has to be shown so.
TEST(AnyChunks, FalseClaimsAreFound) {
  Result result = any_chunks_search("ring:4", "allgather");
  ASSERT_TRUE(result.complete);
  const auto faults = [&](const std::function<void(Result&)>& change) {
    Result changed = result;
    change(changed);
    return !check_result(changed, "", {}).faults.empty();
  };
  EXPECT_FALSE(faults([](Result&) {}));
  const auto priced = [](Result& r) -> Claim& {
    return *std::ranges::find(r.claims, kAnySteps, &Claim::steps);
  };
  EXPECT_TRUE(faults([&](Result& r) { ++priced(r).rounds; }));
  EXPECT_TRUE(faults([&](Result& r) { --priced(r).chunks; }));
  EXPECT_TRUE(faults([&](Result& r) { priced(r).any_chunks = false; }));
  EXPECT_TRUE(
      faults([&](Result& r) { std::erase_if(r.claims, [](const Claim& c) { return c.any_chunks; }); }));
  EXPECT_TRUE(faults([](Result& r) { r.complete_chunks = 1; }));
  EXPECT_TRUE(faults([](Result& r) { r.complete_chunks = 0; }));
  // With all counts of a space each claimed, the space of any count is not complete.
  EXPECT_TRUE(faults([&](Result& r) {
    const Claim any = priced(r);
    std::erase_if(r.claims, [](const Claim& c) { return c.any_chunks; });
    for (int c = 1; c <= 100; ++c) {
      r.claims.push_back({.collective = any.collective,
                          .chunks = c,
                          .rounds = rounds_claimed(any, c),
                          .certificate = any.certificate});
      r.claims.push_back({.collective = any.collective,
                          .chunks = c,
                          .steps = 1,
                          .rounds = kNoSchedule,
                          .certificate = {.kind = Certificate::Kind::Distance, .chunk = 0, .rank = 2}});
    }
  }));
}

// What growth, entries and refutations of rounds show is of one chunk count.
TEST(AnyChunks, WhatDoesNotScaleIsRefused) {
  const Topology hub = flatten(named_topology("hub:8"));
  const Collective one = make_collective("broadcast", 8, 1);
  // One rank more sends in each round at most: three rounds double it to eight. With many chunks a round is
  // enough for each.
  const Claim claim = fewest_rounds_in(hub, one, 3);
  ASSERT_EQ(claim.certificate.kind, Certificate::Kind::Growth);
  EXPECT_EQ(fault(hub, one, claim), std::nullopt);
  Claim any = claim;
  any.any_chunks = true;
  EXPECT_NE(fault(hub, one, any), std::nullopt);
  EXPECT_EQ(of_any_chunks(hub, one, claim).rounds, 0);
}

// 7/6 is told exactly, and what has a larger denominator is rounded towards less.
TEST(AnyChunks, RatesAreRoundedTowardsLess) {
  const Topology dgx1 = named_topology("dgx1");
  const Collective five = make_collective("allgather", 8, 5);
  const Claim any = of_any_chunks(dgx1, five, fewest_rounds(dgx1, five));
  EXPECT_EQ(any.rounds, 7);
  EXPECT_EQ(any.chunks, 6);
  EXPECT_EQ(fault(dgx1, make_collective("allgather", 8, 1), any), std::nullopt);
  // Each block of three over a link of 99,991 chunks per round: 2/99,991 rounds, beyond what is counted.
  const Topology wide{.name = "wide",
                      .ranks = 3,
                      .links = {{.src = 0, .dst = 1, .bandwidth = 99'991},
                                {.src = 1, .dst = 2, .bandwidth = 99'991},
                                {.src = 2, .dst = 0, .bandwidth = 99'991}}};
  const Collective gather = make_collective("allgather", 3, 1);
  const Claim less_than = of_any_chunks(wide, gather, fewest_rounds(wide, gather));
  EXPECT_LE(less_than.chunks, kMostPerRate);
  if (less_than.rounds > 0) {
    EXPECT_EQ(fault(wide, gather, less_than), std::nullopt);
  }
  EXPECT_FALSE(
      less({.rounds = 2, .chunks = 99'991}, {.rounds = less_than.rounds, .chunks = less_than.chunks}));
}

Claim claim(bool any, int steps, int rounds, int chunks = 1) {
  return {.collective = CollectiveKind::Allgather,
          .chunks = chunks,
          .any_chunks = any,
          .steps = steps,
          .rounds = rounds};
}

// Marks by hand: with at most 2 steps 3 rounds per 2 chunks, with any number 7 per 6.
TEST(AnyChunks, Marks) {
  Result result{.topology = named_topology("ring:4"), .collective = make_collective("allgather", 4, 1)};
  result.space.max_chunks = kAnyChunks;
  result.claims = {claim(true, 1, kNoSchedule), claim(true, 2, 3, 2), claim(true, kAnySteps, 7, 6)};
  const auto with = [&](std::vector<Cost> costs) {
    result.points.clear();
    for (const Cost& cost : costs)
      result.points.push_back({.cost = cost, .collective = make_collective("allgather", 4, cost.chunks)});
    mark(result);
  };
  with({{2, 3, 2}, {3, 7, 6}});
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(result.points[0].proven && result.points[1].proven);
  // In three steps of one chunk: 2 rounds at least, of two 3, of six 7. Only from six chunks on something
  // better is left.
  with({{2, 3, 2}});
  EXPECT_FALSE(result.complete);
  EXPECT_TRUE(result.points[0].proven);
  EXPECT_EQ(result.openings, (std::vector<Opening>{{.steps = 3, .found = Rate{3, 2}, .bound = Rate{7, 6}}}));
  EXPECT_EQ(result.complete_chunks, 2);  // 3 chunks may take 4 rounds
  // Claims about single counts move that on, and never to all.
  result.claims.push_back(claim(false, kAnySteps, 5, 3));
  mark(result);
  EXPECT_EQ(result.complete_chunks, 3);
  EXPECT_FALSE(result.complete);
  with({});
  EXPECT_EQ(result.complete_chunks, 0);
  // With k = 0 two rounds take two steps, which one chunk has at least; in the space of as few steps there is
  // nothing.
  result.space.extra_rounds = 0;
  result.space.max_steps = 1;
  mark(result);
  EXPECT_TRUE(result.complete);
}

// Whatever the order in which points come, the costs that are kept are the same.
TEST(AnyChunks, ParetoSetKeepsTheBest) {
  std::vector<Cost> costs = {{2, 4, 2}, {2, 2, 1}, {3, 3, 2}, {3, 7, 6}, {4, 7, 6}, {3, 6, 4}};
  std::ranges::sort(costs, {}, [](const Cost& c) { return std::tuple(c.steps, c.rounds, c.chunks); });
  do {
    ParetoSet set;
    std::vector<SharedPoint> beaten;
    for (const Cost& cost : costs) set.put(std::make_shared<const Point>(Point{.cost = cost}), &beaten);
    std::vector<Cost> kept;
    for (const SharedPoint& point : set.points()) kept.push_back(point->cost);
    EXPECT_EQ(kept, (std::vector<Cost>{{2, 2, 1}, {3, 7, 6}}));
    EXPECT_EQ(beaten.size(), 4u);
    EXPECT_TRUE(set.covers({5, 7, 6}));
    EXPECT_FALSE(set.covers({3, 6, 6}));
  } while (std::ranges::next_permutation(costs, {}, [](const Cost& c) {
             return std::tuple(c.steps, c.rounds, c.chunks);
           }).found);
}

}  // namespace
}  // namespace chorale
