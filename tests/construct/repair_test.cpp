// Schedules after failures do what they did, on what is left of the machine.
#include "construct/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "construct/incumbents.h"
#include "semantics/verify.h"
#include "topology/changes.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

bool reaches_all(const Topology& t) {
  const auto all = [](const Topology& one) {
    return std::ranges::none_of(hops(one, {0}), [](int distance) { return distance < 0; });
  };
  return all(t) && all(reversed(t));
}

// Every schedule that we construct, of every collective, after each link has failed alone, in one direction;
// after each rank has.
TEST(Repair, AfterAnyOneFailure) {
  int patches = 0;
  for (const char* name : {"ring:4", "hub:3", "mesh:2x3", "amd-z52"}) {
    const Topology before = flatten(load_topology(name));
    std::vector<MachineChanges> failures;
    for (std::size_t l = 0; l < before.links.size(); l += 3)
      failures.push_back({.without_links = {std::to_string(before.links[l].src) + ">" +
                                            std::to_string(before.links[l].dst)}});
    failures.push_back({.without_ranks = {"1"}});
    for (const MachineChanges& failure : failures) {
      const Topology now = flatten(load_topology(name, failure));
      for (const std::string& kind : collective_names()) {
        SCOPED_TRACE(now.name + " " + kind);
        const Collective old = make_collective(kind, before.ranks, 2, before.ranks - 1);
        const Collective wanted = make_collective(kind, now.ranks, 2, now.ranks - 1);
        const MovedParts moves =
            moves_without(failure.without_ranks.empty() ? std::vector<Rank>{} : std::vector<Rank>{1}, old);
        for (const Point& point : incumbents(before, old)) {
          const Patched made = patched({before, old}, point.schedule, moves, {now, wanted});
          if (!reaches_all(now)) continue;
          EXPECT_THAT(made.schedules, Not(IsEmpty())) << name_of(point.method);
          for (const Schedule& schedule : made.schedules) {
            EXPECT_THAT(violations(now, wanted, schedule), IsEmpty()) << name_of(point.method);
            ++patches;
          }
        }
      }
    }
  }
  EXPECT_GT(patches, 200);
}

// Where nothing failed nothing is lost, and nothing costs more than before.
TEST(Repair, LeavesWhatIsWhole) {
  const Topology t = flatten(load_topology("dgx1"));
  for (const char* kind : {"allgather", "reducescatter", "broadcast", "alltoall"}) {
    const Collective c = make_collective(kind, t.ranks, 2);
    for (const Point& point : incumbents(t, c)) {
      const Patched made = patched({t, c}, point.schedule, moves_without({}, c), {t, c});
      EXPECT_EQ(made.lost, 0);
      EXPECT_TRUE(std::ranges::any_of(made.schedules,
                                      [&](const Schedule& schedule) {
                                        return std::ssize(schedule.steps) <= point.cost.steps &&
                                               total_rounds(schedule) <= point.cost.rounds;
                                      }))
          << kind << " by " << name_of(point.method);
    }
  }
}

// In one direction round a ring of four, and 0 > 1 fails: the three chunks that went over it go in the other
// direction, 0 > 3 > 2 > 1.
TEST(Repair, GoesTheOtherWayRound) {
  const Topology before = flatten(load_topology("ring:4"));
  const Topology now = flatten(load_topology("ring:4", {.without_links = {"0>1"}}));
  const Collective c = make_collective("allgather", 4, 1);
  Schedule ring;
  for (int s = 0; s < 3; ++s) {
    Step step;
    for (Rank n = 0; n < 4; ++n)
      step.sends.push_back({.chunk = (n - s + 4) % 4, .link = find_link(before, n, (n + 1) % 4)});
    std::ranges::sort(step.sends);
    ring.steps.push_back(step);
  }
  ASSERT_THAT(violations(before, c, ring), IsEmpty());
  const Patched made = patched({before, c}, ring, moves_without({}, c), {now, c});
  EXPECT_EQ(made.sends, 12);
  EXPECT_EQ(made.lost, 3);
  ASSERT_THAT(made.schedules, Not(IsEmpty()));
  EXPECT_THAT(violations(now, c, made.schedules.front()), IsEmpty());
}

}  // namespace
}  // namespace chorale
