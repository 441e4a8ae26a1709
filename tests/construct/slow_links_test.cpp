// Sends over slow links in fewer steps: the verifier agrees, no step more waits for them, and the schedules
// of clusters take less time at small sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "construct/engine.h"
#include "construct/retiming.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using test::below;
using test::random_machine;

int slow_steps(const Topology& t, const Schedule& schedule) {
  double slowest = 0;
  for (const Link& link : t.links) slowest = std::max(slowest, link.alpha_us);
  return static_cast<int>(std::ranges::count_if(schedule.steps, [&](const Step& step) {
    return std::ranges::any_of(step.sends,
                               [&](const Send& send) { return t.links[send.link].alpha_us == slowest; });
  }));
}

// Of all steps together, microseconds.
double latency(const Topology& t, const Schedule& schedule) {
  double sum = 0;
  for (const Step& step : schedule.steps) {
    double most = 0;
    for (const Send& send : step.sends) most = std::max(most, t.links[send.link].alpha_us);
    sum += most;
  }
  return sum;
}

TEST(SlowLinks, RandomSchedulesStaySound) {
  int changed = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Topology t = random_machine(random);
    for (Link& link : t.links) link.alpha_us = below(random, 3) == 0 ? 5 : 1;
    const CollectiveKind kinds[] = {CollectiveKind::Allgather, CollectiveKind::Alltoall,
                                    CollectiveKind::Broadcast};
    const Collective one = make_collective(kinds[below(random, 3)], t.ranks, 1);
    construct({.topology = t, .one = one, .work = 1'000'000}, [&](const Point& point) {
      const auto together = slow_links_together(t, point.collective, point.schedule);
      if (!together) return;
      ++changed;
      EXPECT_EQ(violations(t, point.collective, *together, 1), std::vector<Fault>());
      EXPECT_EQ(total_sends(*together), total_sends(point.schedule));
      EXPECT_LT(slow_steps(t, *together), slow_steps(t, point.schedule));
      EXPECT_LE(together->steps.size(), point.schedule.steps.size());
    });
  }
  EXPECT_GT(changed, 10);
}

TEST(SlowLinks, AnAlltoallOfTwoNodesWaitsForNicsOnce) {
  const Topology t = named_topology("dgx-a100:2");
  const Collective one = make_collective(CollectiveKind::Alltoall, t.ranks, 1);
  double before = 1e9, after = 1e9;
  construct({.topology = t, .one = one, .work = 1'000'000}, [&](const Point& point) {
    before = std::min<double>(before, latency(t, point.schedule));
    if (const auto together = slow_links_together(t, point.collective, point.schedule))
      after = std::min<double>(after, latency(t, *together));
  });
  EXPECT_LT(after, 0.6 * before);
}

TEST(SlowLinks, NothingToDo) {
  const Topology ring = named_topology("ring:4");
  const Collective one = make_collective(CollectiveKind::Allgather, 4, 1);
  construct({.topology = ring, .one = one, .work = 1'000'000}, [&](const Point& point) {
    EXPECT_FALSE(slow_links_together(ring, point.collective, point.schedule));
  });
}

}  // namespace
}  // namespace chorale
