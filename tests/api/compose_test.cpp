// What is composed is never better than a frontier, and what is patched is where a search begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/chorale.h"
#include "semantics/verify.h"

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

TEST(Compose, IsNeverBetterThanAFrontier) {
  for (const char* spec : {"rack:1x2x2x2", "rack:1x1x3x2", "dgx-a100:2"})
    for (const char* collective : {"allgather", "allreduce", "alltoall", "broadcast"}) {
      SCOPED_TRACE(std::string(spec) + " " + collective);
      const Topology there = machine(spec);
      const Collective asked = communication(collective, there);
      const Composition composed = compose(there, asked, {.max_chunks = 2});
      ASSERT_THAT(composed.result.points, Not(IsEmpty()));
      EXPECT_EQ(composed.outlines.size(), composed.result.points.size());
      EXPECT_THAT(check(composed.result).faults, IsEmpty());
      const Result all = frontier(there, asked, quick(2));
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

// A result for one node is the schedule of a stage in both.
TEST(Compose, TakesSchedulesOfStagesFromFiles) {
  const Nesting levels = nesting("rack:1x1x2x4");
  EXPECT_EQ(levels.names, (std::vector<std::string>{"cpu", "gpu"}));
  EXPECT_THAT([&] { read_outline("allgather gpu=nowhere.json", "rack:1x1x2x4"); },
              ThrowsMessage<InputError>(HasSubstr("nowhere.json")));
  EXPECT_THAT([] { nesting("ring:7"); },
              ThrowsMessage<InputError>(HasSubstr("is not divided into equal groups")));
}

// Of the five sends of chunk 0's ring that go over 0 > 1 and on, only the first is lost: the search begins with what is left,
// made whole, and what it ends with is as good or better.
TEST(Repair, BeginsASearch) {
  const Topology before = machine("dgx1");
  const MachineChanges failure{.without_links = {"0-1"}};
  const Topology now = machine("dgx1", failure);
  for (const char* collective : {"allgather", "allreduce", "reduce"}) {
    SCOPED_TRACE(collective);
    const Result old = frontier(before, communication(collective, before), quick(2));
    const Collective asked = communication(collective, now);
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
  const Result old = frontier(ring, communication("broadcast", ring), quick(1));
  const auto asking = [&](const std::string& spec, const std::string& collective,
                          const MachineChanges& changes) {
    return [=] {
      const Topology now = machine(spec, changes);
      repair(old, spec, changes, communication(collective, now));
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
