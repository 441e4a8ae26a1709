#include "pareto/search.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/error.h"
#include "ir/json.h"
#include "pareto/check.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using Costs = std::set<std::vector<int>>;

Result search(const std::string& machine, const std::string& name, FrontierOptions options) {
  const Topology topology = flatten(named_topology(machine));
  return search_frontier(topology, make_collective(name, topology.ranks, 1), options);
}

Costs frontier(const Result& result) {
  Costs costs;
  for (const Point& p : result.points)
    if (p.on_frontier) costs.insert({p.cost.steps, p.cost.rounds, p.cost.chunks});
  return costs;
}

void expect_sound(const Result& result) {
  EXPECT_TRUE(result.complete);
  const CheckReport report = check_result(result, "", {});
  EXPECT_EQ(report.faults, std::vector<std::string>{});
  EXPECT_EQ(report.undecided, 0);
  EXPECT_EQ(report.schedules, static_cast<int>(result.points.size()));
}

// Cai et al. 2021, table 4: latency-optimal in 2 steps, bandwidth-optimal at 7/6 rounds a chunk.
TEST(SearchFrontier, Dgx1Allgather) {
  const Result result = search("dgx1", "allgather", {.max_chunks = 6});
  expect_sound(result);
  EXPECT_EQ(frontier(result), (Costs{{2, 3, 2}, {3, 7, 6}}));
}

TEST(SearchFrontier, ReduceScatterIsAsGoodAsItsDual) {
  const Result result = search("dgx1", "reducescatter", {.max_chunks = 6});
  expect_sound(result);
  EXPECT_EQ(frontier(result), (Costs{{2, 3, 2}, {3, 7, 6}}));
  for (const Point& point : result.points) EXPECT_EQ(point.method, "dual");
}

TEST(SearchFrontier, AllReduceTakesTheBestOfItsFamilies) {
  const Result ring = search("ring:4", "allreduce", {});
  expect_sound(ring);
  // Directly, everything at once; in 2 + 2 steps of a quarter of the data: half the rounds.
  EXPECT_EQ(frontier(ring), (Costs{{2, 2, 1}, {4, 4, 4}}));
  // The composed points of 4 chunks a block have 16 chunks a vector; a direct one must beat 3/2 rounds a
  // chunk.
  const Result line = search("line:4", "allreduce", {.min_chunks = 4, .max_chunks = 4});
  expect_sound(line);
  EXPECT_EQ(frontier(line), (Costs{{3, 12, 4}, {4, 8, 4}, {6, 24, 16}}));
}

TEST(SearchFrontier, TwoStepAllReduceOfDgx1IsDirect) {
  const Result result = search("dgx1", "allreduce", {.max_chunks = 2});
  expect_sound(result);
  bool found = false;
  for (const Point& p : result.points) found = found || (p.cost.steps == 2 && p.method == "direct");
  EXPECT_TRUE(found);
}

TEST(SearchFrontier, BroadcastOnASwitchIsProvenByGrowth) {
  const Result result = search("dgx2", "broadcast", {.max_chunks = 3});
  expect_sound(result);
  EXPECT_TRUE(frontier(result).count({6, 6, 3}));
  for (const Claim& claim : result.claims) EXPECT_NE(claim.certificate.kind, Certificate::Kind::Refutation);
}

// The frontier does not depend on what helps to find it.
TEST(SearchFrontier, BoundsAndSymmetryOnlySaveTime) {
  for (const char* name : {"broadcast", "allgather", "alltoall", "scatter"}) {
    const Result all = search("ring:4", name, {.max_chunks = 3});
    const Result no_bounds = search("ring:4", name, {.max_chunks = 3, .synthesis = {.use_bounds = false}});
    const Result no_symmetry =
        search("ring:4", name, {.max_chunks = 3, .synthesis = {.use_symmetry = false}});
    expect_sound(no_bounds);
    EXPECT_EQ(frontier(all), frontier(no_bounds)) << name;
    EXPECT_EQ(frontier(all), frontier(no_symmetry)) << name;
  }
}

std::string without_times(Result result) {
  result.seconds = 0;
  for (Point& p : result.points) p.seconds = 0;
  for (Claim& c : result.claims) c.seconds = 0;
  return to_json(result);
}

TEST(SearchFrontier, TheSameSeedGivesTheSameResult) {
  const FrontierOptions options{.max_chunks = 3};
  const std::string once = without_times(search("hypercube:3", "broadcast", options));
  EXPECT_EQ(once, without_times(search("hypercube:3", "broadcast", options)));
  FrontierOptions two_jobs = options;
  two_jobs.jobs = 2;
  EXPECT_EQ(once, without_times(search("hypercube:3", "broadcast", two_jobs)));
}

TEST(SearchFrontier, KeepsToTheSpaceAskedFor) {
  for (const Point& p : search("dgx1", "allgather", {.max_chunks = 6, .extra_rounds = 1}).points)
    EXPECT_LE(p.cost.rounds, p.cost.steps + 1);
  for (const Point& p : search("dgx1", "allgather", {.max_chunks = 6, .max_steps = 2}).points)
    EXPECT_LE(p.cost.steps, 2);
  EXPECT_THROW(search("ring:4", "allgather", {.min_chunks = 3, .max_chunks = 2}), InputError);
}

// What is left open is said, and nothing that rests on it is called proven.
TEST(SearchFrontier, ALimitLeavesPointsUnproven) {
  const Result result =
      search("hub:8", "broadcast",
             {.max_chunks = 4, .synthesis = {.limits = {.conflicts = 20}, .use_bounds = false}});
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.stopped, "conflict limit");
  EXPECT_TRUE(
      std::any_of(result.points.begin(), result.points.end(), [](const Point& p) { return !p.proven; }));
  EXPECT_EQ(check_result(result, "", {}).faults, std::vector<std::string>{});
}

TEST(SearchFrontier, StopsWhenToldTo) {
  const std::atomic<bool> stop = true;
  const Result result =
      search("hypercube:3", "allreduce", {.max_chunks = 8, .synthesis = {.limits = {.stop = &stop}}});
  EXPECT_EQ(result.stopped, "interrupted");
  EXPECT_FALSE(result.complete);
}

TEST(SearchFrontier, WhatNeedNotMoveTakesNoStep) {
  const Topology topology = named_topology("ring:4");
  const Collective stays{.name = "stay",
                         .ranks = 4,
                         .custom = true,
                         .chunks = {{.pre = {0, 1}, .post = {1}}, {.pre = {3}, .post = {3}}}};
  const Result result = search_frontier(topology, stays, {});
  ASSERT_EQ(result.points.size(), 1u);
  EXPECT_EQ(result.points[0].cost, (Cost{.steps = 0, .rounds = 0, .chunks = 1}));
}

}  // namespace
}  // namespace chorale
