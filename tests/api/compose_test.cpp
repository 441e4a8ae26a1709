// What is composed is never better than a frontier, and what is patched is where a search begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "construct/baselines/classic.h"
#include "jobs/chorale.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

// Without a single conflict for solvers: what is constructed.
FrontierOptions quick(int chunks) {
  return {.max_chunks = chunks, .synthesis = {.limits = {.conflicts = 0}}};
}

// Of a named machine and a collective, which several tests ask for.
const Result& quick_frontier(const std::string& machine_name, const std::string& collective_name) {
  static std::map<std::pair<std::string, std::string>, Result> known;
  const auto [at, is_new] = known.try_emplace({machine_name, collective_name});
  const Topology there = machine(machine_name);
  if (is_new) at->second = frontier(there, collective(collective_name, there), quick(2));
  return at->second;
}

TEST(ComposeLong, IsNeverBetterThanAFrontier) {
  for (const char* spec : {"rack:1x2x2x2", "rack:1x1x3x2", "dgx-a100:2"})
    for (const char* collective : {"allgather", "allreduce", "alltoall", "broadcast"}) {
      SCOPED_TRACE(std::string(spec) + " " + collective);
      const Topology there = machine(spec);
      const Collective asked = chorale::collective(collective, there);
      const Composition composed = compose(there, asked, {.max_chunks = 2});
      ASSERT_THAT(composed.result.points, Not(IsEmpty()));
      EXPECT_EQ(composed.outlines.size(), composed.result.points.size());
      EXPECT_THAT(check(composed.result).faults, IsEmpty());
      const Result& all = quick_frontier(spec, collective);
      for (const Point& point : composed.result.points)
        EXPECT_TRUE(std::ranges::any_of(all.points,
                                        [&](const Point& other) {
                                          return other.cost.steps <= point.cost.steps &&
                                                 compare_rate(other.cost, point.cost) <= 0;
                                        }))
            << point.cost.steps << " steps, " << point.cost.rounds << " rounds, " << point.cost.chunks
            << " chunks";
    }
}

// Each schedule is told when it is found, so that a limit leaves it; what is told is sound, and in the end
// all of it was told.
TEST(Compose, TellsWhatIsThereAsItIsFound) {
  const Topology there = machine("dgx-a100:2");
  int told = 0, without_bounds = 0;
  Composition last;
  const Composition composed = compose(there, collective("allreduce", there),
                                       {.max_chunks = 2, .found = [&](const Composition& so_far) {
                                          ++told;
                                          without_bounds += so_far.result.claims.empty();
                                          EXPECT_EQ(so_far.outlines.size(), so_far.result.points.size());
                                          EXPECT_THAT(check(so_far.result).faults, IsEmpty());
                                          last = so_far;
                                        }});
  EXPECT_GT(without_bounds, 0) << "nothing is told before the bounds";
  EXPECT_GT(told, 2 + without_bounds) << "of two chunks nothing is told before all is";
  EXPECT_EQ(last.result.points, composed.result.points);
  EXPECT_EQ(last.outlines, composed.outlines);
}

// Steps and rounds are counted as if all links were the worst. Where latencies differ, what has more of both
// may be faster, and is kept: at no size is what is composed faster, nor what is baselines in as many chunks.
TEST(FrontierLong, IsNowhereSlowerThanWhatItBeatsInStepsAndRounds) {
  const std::vector<std::int64_t> sizes = {64, 1 << 10, 32 << 10, 1 << 20, 32 << 20};
  std::mt19937 random(20261123);
  std::vector<Topology> machines = {machine("dgx-a100:2"), machine("rack:1x2x2x2")};
  for (int i = 0; i < 6; ++i) {
    machines.push_back(test::random_machine(random));
    for (Link& link : machines.back().links)
      link.alpha_us = std::array{0.5, 3.0, 20.0}[test::below(random, 3)];
  }
  int kept = 0;
  for (const Topology& there : machines)
    for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::Allgather}) {
      SCOPED_TRACE(there.name + " " + name_of(kind));
      const Collective asked = make_collective(kind, flatten(there).ranks, 1);
      const Result all = there.name == "random" ? frontier(there, asked, quick(2))
                                                : quick_frontier(there.name, name_of(kind));
      EXPECT_THAT(check(all).faults, IsEmpty());
      std::vector<Result> others;
      if (there.name != "random") others.push_back(compose(there, asked, {.max_chunks = 2}).result);
      for (const ClassicEntry& entry : classic_catalogue())
        for (const int chunks : {1, 2}) try {
            if (entry.collective != kind) continue;
            Result hand = classic(there, {.name = name_of(entry.method), .chunks = chunks});
            if (hand.points.front().cost.chunks <= 2) others.push_back(std::move(hand));
          } catch (const InputError&) {
            // The machine lacks a link for it.
          }
      const std::vector<SizeRow> ours = best_by_size(all, sizes);
      for (const SizeRow& row : ours) kept += !all.points[row.point].on_frontier;
      for (const Result& other : others) {
        const std::vector<SizeRow> theirs = best_by_size(other, sizes);
        for (std::size_t i = 0; i < sizes.size(); ++i)
          EXPECT_LE(ours[i].us, theirs[i].us * 1.01)
              << sizes[i] << " bytes, " << name_of(other.points[theirs[i].point].method);
      }
    }
  EXPECT_GT(kept, 0);
}

// A result for one node is the schedule of a stage in both.
TEST(Compose, TakesSchedulesOfStagesFromFiles) {
  const Nesting levels = nesting("rack:1x1x2x4");
  EXPECT_EQ(levels.names, (std::vector<std::string>{"cpu", "gpu"}));
  EXPECT_THAT([&] { read_outline("allgather gpu=nowhere.json", "rack:1x1x2x4"); },
              ThrowsMessage<InputError>(HasSubstr("nowhere.json")));
  EXPECT_THAT([] { nesting("ring:7"); },
              ThrowsMessage<InputError>(HasSubstr("is not divided into equal groups")));
}

// Of the five sends of chunk 0's ring that go over 0 > 1 and on, only the first is lost: the search begins
// with what is left, made whole, and what it ends with is as good or better.
TEST(Repair, BeginsASearch) {
  const Topology before = machine("dgx1");
  const MachineChanges failure{.without_links = {"0-1"}};
  const Topology now = machine("dgx1", failure);
  for (const char* collective : {"allgather", "allreduce", "reduce"}) {
    SCOPED_TRACE(collective);
    const Result old = frontier(before, chorale::collective(collective, before), quick(2));
    const Collective asked = chorale::collective(collective, now);
    const Repair made = repair(old, "dgx1", failure, asked);
    ASSERT_TRUE(made.patched);
    EXPECT_GT(made.lost, 0);
    EXPECT_LT(made.lost, made.sends);
    FrontierOptions options = quick(2);
    options.known = made.known;
    const Result fresh = frontier(now, asked, options);
    EXPECT_THAT(check(fresh).faults, IsEmpty());
    EXPECT_TRUE(std::ranges::any_of(
        fresh.points, [&](const Point& point) { return compare_rate(point.cost, *made.patched) <= 0; }));
  }
}

TEST(Repair, RefusesOtherQuestions) {
  const Topology ring = machine("ring:4");
  const Result old = frontier(ring, collective("broadcast", ring), quick(1));
  const auto asking = [&](const std::string& spec, const std::string& collective,
                          const MachineChanges& changes) {
    return [=] {
      const Topology now = machine(spec, changes);
      repair(old, spec, changes, chorale::collective(collective, now));
    };
  };
  EXPECT_THAT(asking("ring:5", "broadcast", {}),
              ThrowsMessage<InputError>(HasSubstr("of 4 ranks, and this one had 5")));
  EXPECT_THAT(asking("ring:4", "allgather", {}), ThrowsMessage<InputError>(HasSubstr("is of broadcast")));
  EXPECT_THAT(asking("ring:4", "broadcast", {.without_ranks = {"0"}}),
              ThrowsMessage<InputError>(HasSubstr("the root of the result is gone")));
}

}  // namespace
}  // namespace chorale
