// Mixed trees: the referee agrees, no bound is broken, what is known is beaten or left alone; and on tiny machines exact synthesis
// says how near they come.
#include "construct/mixed_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>

#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "pareto/synthesize.h"
#include "semantics/verify.h"
#include "tests/construct/random_machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

using test::below;
using test::random_machine;

std::vector<Schedule> mixed(const Topology& t, const Collective& c, const std::vector<Schedule>& known = {},
                            const std::atomic<bool>* stop = nullptr) {
  return mixed_trees(
      t, c, known, [&] { return fewest_rounds(t, c).rounds; }, stop);
}

Collective random_copies(std::mt19937& random, int ranks, int most_chunks) {
  const bool broadcast = below(random, 3) == 0;
  return make_collective(broadcast ? "broadcast" : "allgather", ranks, 1 + below(random, most_chunks),
                         broadcast ? below(random, ranks) : 0);
}

// Of at most so many steps.
int fewest(const std::vector<Schedule>& schedules, int steps) {
  int rounds = std::numeric_limits<int>::max();
  for (const Schedule& schedule : schedules)
    if (std::ssize(schedule.steps) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

TEST(MixedTrees, OnRandomMachines) {
  int found = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, 6, 4);
    const Collective c = random_copies(random, t.ranks, 6);
    const std::vector<Schedule> schedules = mixed(t, c);
    for (const Schedule& schedule : schedules) {
      ++found;
      EXPECT_THAT(violations(t, c, schedule), IsEmpty());
      EXPECT_GE(total_rounds(schedule),
                fewest_rounds_in(t, c, static_cast<int>(schedule.steps.size())).rounds);
    }
    EXPECT_EQ(mixed(t, c), schedules);
    // Asked again, only for what is better.
    for (const Schedule& better : mixed(t, c, schedules))
      EXPECT_LT(total_rounds(better), fewest(schedules, static_cast<int>(better.steps.size())));
  }
  EXPECT_GE(found, 20);
}

// Exact synthesis knows the fewest rounds of so many steps.
TEST(MixedTrees, NearTheBestOfTinyMachines) {
  int asked = 0, best = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, 4, 3);
    const Collective c = random_copies(random, t.ranks, 3);
    for (const Schedule& schedule : mixed(t, c)) {
      const Budget less{.steps = static_cast<int>(schedule.steps.size()),
                        .rounds = total_rounds(schedule) - 1};
      const Verdict verdict = synthesize(t, c, less, {.limits = {.conflicts = 20'000}}).verdict;
      asked += verdict != Verdict::Unknown;
      best += verdict == Verdict::Unsat;
    }
  }
  EXPECT_GE(asked, 30);
  EXPECT_GE(best * 10, asked * 9) << best << " of " << asked;
}

// 15 chunks come to each rank over its one link: no schedule takes fewer than 15 rounds, and growth takes four steps.
TEST(MixedTrees, LeavesAndSpinesAtTheBoundInTwoSteps) {
  const Topology t = flatten(load_topology("leaf-spine:4x4x2"));
  const Collective c = make_collective("allgather", 16, 1);
  for (const Point& point : grown_incumbents(t, c))
    if (point.cost.steps == 2) {
      EXPECT_EQ(point.cost.rounds, 15);
      return;
    }
  ADD_FAILURE() << "nothing in two steps";
}

// Two boxes of eight ranks, each behind a wire of one unit. All eight chunks of a box come over the wire of the other at least once, so
// eight rounds a chunk are needed, and more in three steps, since in the last one what comes in is spread no more.
TEST(MixedTrees, BoxesBehindOneWire) {
  const Topology box = load_topology("dgx1");
  Topology t{.name = "two boxes", .ranks = 16, .switches = 3};
  const auto join = [&](Node a, Node b, int bandwidth) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
    t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
  };
  for (int i = 0; i < 2; ++i) {
    for (Link link : box.links) {
      link.src += 8 * i;
      link.dst += 8 * i;
      t.links.push_back(link);
    }
    for (Rank n = 0; n < 8; ++n) join(8 * i + n, 16 + i, 1);
    join(16 + i, 18, 1);
  }
  t = flatten(t);
  const Collective c = make_collective("allgather", 16, 4);
  const std::vector<Schedule> schedules = mixed(t, c);
  for (const Schedule& schedule : schedules) EXPECT_THAT(violations(t, c, schedule), IsEmpty());
  // Growth has none, and negotiated trees have 54 in 3 steps and 46 in 4.
  EXPECT_LE(fewest(schedules, 3), 38);
  EXPECT_LE(fewest(schedules, 5), 36);
}

TEST(MixedTrees, OnlyWhatGoesToAll) {
  const Topology t = load_topology("dgx1");
  EXPECT_THAT(mixed(t, make_collective("alltoall", 8, 1)), IsEmpty());
  EXPECT_THAT(mixed(t, make_collective("allreduce", 8, 1)), IsEmpty());
  const std::atomic<bool> stop = true;
  EXPECT_THAT(mixed(t, make_collective("allgather", 8, 1), {}, &stop), IsEmpty());
}

}  // namespace
}  // namespace chorale
