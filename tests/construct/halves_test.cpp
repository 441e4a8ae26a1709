// An AllReduce in two halves, on machines that are the same turned round and on those that are not.
#include "construct/halves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "bounds/lower_bounds.h"
#include "semantics/verify.h"
#include "tests/construct/random_machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

using test::below;
using test::random_machine;

// The other's other is the link itself; ends are exchanged, and what each limit holds is what another, or itself, holds.
TEST(Halves, LinksTurnedRoundAreTheSameMachine) {
  int same = 0, not_same = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Topology t = random_machine(random, 5, 3);
    if (seed % 2 == 0)  // the same with each link both ways
      for (int l = 0, links = static_cast<int>(t.links.size()); l < links; ++l) {
        Link back = t.links[l];
        std::swap(back.src, back.dst);
        t.links.push_back(back);
        for (int z = 0, limits = static_cast<int>(t.limits.size()); l == 0 && z < limits; ++z) {
          SharedLimit twin = t.limits[z];
          for (LinkId& link : twin.links) link += links;
          t.limits.push_back(twin);
        }
      }
    const auto other = links_turned_round(t);
    if (!other) {
      ++not_same;
      continue;
    }
    ++same;
    Topology turned = reversed(t);
    for (SharedLimit& limit : turned.limits) {
      for (LinkId& l : limit.links) l = (*other)[l];
      std::ranges::sort(limit.links);
    }
    for (LinkId l = 0; l < std::ssize(t.links); ++l) {
      EXPECT_EQ((*other)[(*other)[l]], l);
      EXPECT_EQ(turned.links[l].src, t.links[(*other)[l]].src);
      EXPECT_EQ(turned.links[l].dst, t.links[(*other)[l]].dst);
      EXPECT_EQ(turned.links[l].bandwidth, t.links[(*other)[l]].bandwidth);
    }
    const auto links_of = [](const Topology& machine) {
      std::vector<std::pair<std::vector<LinkId>, int>> limits;
      for (const SharedLimit& limit : machine.limits) limits.push_back({limit.links, limit.bandwidth});
      std::ranges::sort(limits);
      return limits;
    };
    EXPECT_EQ(links_of(turned), links_of(t));
  }
  EXPECT_GT(same, 20);
  EXPECT_GT(not_same, 20);
}

TEST(Halves, OfRandomMachines) {
  int found = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, 5, 3);
    const Collective c = make_collective("allreduce", t.ranks, t.ranks * (1 + below(random, 2)));
    const std::vector<Schedule> schedules = halves(t, c);
    found += !schedules.empty();
    for (const Schedule& schedule : schedules) {
      EXPECT_THAT(violations(t, c, schedule), IsEmpty());
      EXPECT_GE(total_rounds(schedule), fewest_rounds(t, c).rounds);
    }
    EXPECT_THAT(halves(t, make_collective("allreduce", t.ranks, t.ranks + 1)), IsEmpty());
    EXPECT_THAT(halves(t, make_collective("allgather", t.ranks, t.ranks)), IsEmpty());
  }
  EXPECT_GT(found, 30);
}

// The leaves' wires to the spines are what both halves fill: 15 rounds each in two steps, where a tree a chunk took 42.
TEST(Halves, LeavesAndSpines) {
  const Topology t = flatten(load_topology("leaf-spine:4x4x2"));
  const Collective c = make_collective("allreduce", 16, 16);
  const std::vector<Schedule> schedules = halves(t, c);
  ASSERT_FALSE(schedules.empty());
  for (const Schedule& schedule : schedules) EXPECT_THAT(violations(t, c, schedule), IsEmpty());
  EXPECT_EQ(total_rounds(schedules.back()), fewest_rounds(t, c).rounds);
  EXPECT_LE(schedules.back().steps.size(), 6u);
}

}  // namespace
}  // namespace chorale
