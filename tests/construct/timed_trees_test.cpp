// Trees in time: the referee agrees, no bound is broken, and what is known is beaten or left alone.
#include "construct/timed_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "construct/link_orbits.h"
#include "construct/smooth_load.h"
#include "semantics/verify.h"
#include "symmetry/orbits.h"
#include "tests/construct/random_machines.h"
#include "tests/semantics/machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

using test::below;
using test::random_machine;

TEST(TimedTrees, OnRandomMachines) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, 5, 3);
    static const char* const kNames[] = {"allreduce", "allgather", "broadcast"};
    const int kind = below(random, 3);
    const Collective c =
        make_collective(kNames[kind], t.ranks, 1 + below(random, 5), kind == 2 ? below(random, t.ranks) : 0);
    const int bound = fewest_rounds(t, c).rounds;
    const std::vector<Schedule> schedules = fit_trees(t, c, {}, [&] { return bound; });
    ASSERT_FALSE(schedules.empty());
    for (const Schedule& schedule : schedules) {
      EXPECT_THAT(violations(t, c, schedule), IsEmpty());
      EXPECT_GE(total_rounds(schedule), bound);
    }
    // Asked again, only for what is better.
    for (const Schedule& better : fit_trees(t, c, schedules, [&] { return bound; }))
      for (const Schedule& known : schedules)
        EXPECT_TRUE(better.steps.size() < known.steps.size() || total_rounds(better) < total_rounds(known));
  }
}

// A tree has 15 of the 31 pairs of links that are left, so 31 chunks take 15 rounds at least. In 8 steps,
// four to a rank and four back, trees that are packed first need 35 rounds.
TEST(TimedTrees, FewStepsWhereALinkFailed) {
  Topology t = load_topology("torus:4x4");
  std::erase_if(t.links, [](const Link& link) { return link.src + link.dst == 1; });
  const Collective c = make_collective("allreduce", 16, 31);
  EXPECT_EQ(fewest_rounds(t, c).rounds, 15);
  const std::vector<Point> points = grown_incumbents(t, c);
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(points.front().cost.steps, 8);
  EXPECT_LE(points.front().cost.rounds, 22);
  EXPECT_LE(points.back().cost.rounds, 21);
}

// 40 rounds by the weakest partition; many chunks come near them in a pipeline only (construct/period.h).
TEST(TimedTrees, OnAMeshTreesAreBetterThanTheHalves) {
  const Topology t = load_topology("mesh:4x4");
  const std::vector<Point> points = grown_incumbents(t, make_collective("allreduce", 16, 64));
  ASSERT_FALSE(points.empty());
  EXPECT_LT(points.back().cost.rounds, 60);  // the halves
}

// Of many chunks one tree stands for several, and in 11 steps there is what a pipeline over packed trees
// needs 23 for.
TEST(TimedTrees, OfManyChunksATreeStandsForSeveral) {
  Topology t = load_topology("torus:4x4");
  std::erase_if(t.links, [](const Link& link) { return link.src + link.dst == 1; });
  const Collective c = make_collective("allreduce", 16, 1984);
  const std::vector<Schedule> schedules = fit_trees(t, c, {}, [] { return 960; });
  ASSERT_FALSE(schedules.empty());
  for (const Schedule& schedule : schedules) EXPECT_THAT(violations(t, c, schedule), IsEmpty());
  EXPECT_TRUE(std::ranges::any_of(
      schedules, [](const Schedule& s) { return s.steps.size() <= 11 && total_rounds(s) <= 1130; }));
}

// Prices of a step by the formula of the header: each link and limit by itself, its sends counted.
double plain_price(const LinkOrbits& orbits, const Step& step, LinkId l, double sharpness) {
  std::vector<double> rounds(orbits.capacities().size(), 0);
  for (const Send& send : step.sends)
    for (const LinkOrbits::Share& share : orbits.shares(send.link))
      rounds[share.bin] +=
          static_cast<double>(share.weight) / static_cast<double>(orbits.capacities()[share.bin]);
  const double most = std::ranges::max(rounds);
  double all = 0, sum = 0;
  for (double of : rounds) all += std::exp(sharpness * (of - most));
  for (const LinkOrbits::Share& share : orbits.shares(l)) {
    const double more = std::expm1(sharpness / static_cast<double>(orbits.capacities()[share.bin]));
    sum += share.weight * more / sharpness * std::exp(sharpness * (rounds[share.bin] - most)) / all;
  }
  return sum;
}

// Held against counting the sends of each step, where links share limits, some with other weights; also where
// prices are so sharp that a full step makes an empty one as good as free.
TEST(SmoothLoad, CountsWhatStepsNeedAndPricesByTheFormula) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, 5, 3);
    const std::vector<std::vector<Rank>> alone = identity_alone(t.ranks);
    const LinkOrbits orbits(t, alone);
    const double sharpness = seed % 3 == 0 ? 2 : seed % 3 == 1 ? 0.1 : 200;
    SmoothLoad load(orbits);
    constexpr int kSteps = 3;
    load.clear(kSteps);
    load.sharpen(sharpness);
    std::vector<Step> steps(kSteps);
    std::vector<double> prices(kSteps), before(kSteps);
    for (int i = 0; i < 60; ++i) {
      const int s = below(random, kSteps);
      std::vector<Send>& sends = steps[s].sends;
      if (!sends.empty() && below(random, i < 30 ? 3 : 2) == 0) {
        load.add(sends.back().link, s, -1);
        sends.pop_back();
        continue;
      }
      const LinkId l = below(random, static_cast<int>(t.links.size()));
      load.prices_of(l, before);
      load.add(l, s, 1);
      load.prices_of(l, prices);
      sends.push_back({.link = l});
      for (int other = 0; other < kSteps; ++other) {
        EXPECT_GT(prices[other], 0);
        if (other != s) {
          EXPECT_EQ(prices[other], before[other]);
        }
        const double plain = plain_price(orbits, steps[other], l, sharpness);
        // What is far below the sum is lost in it, and 1e-12 is added, or a price might be 0.
        EXPECT_NEAR(prices[other], plain, 1e-6 * plain + 1e-11 * std::expm1(sharpness) * t.ranks);
      }
      EXPECT_GE(prices[s], before[s] * (1 - 1e-6));  // it is fuller
    }
    const std::vector<int> rounds = load.rounds();
    for (int s = 0; s < kSteps; ++s)
      EXPECT_EQ(rounds[s], steps[s].sends.empty() ? 0 : needed_rounds(t, steps[s]));
  }
}

// Found by tests/doors: rank 0, which contributes nothing, was to pass on what then came to the root over
// others.
TEST(TimedTrees, RelaysThatAreNotNeededAnyMoreSendNothing) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random);
    Collective sums{.custom_name = "some", .ranks = t.ranks, .combining = true};
    for (int c = 0; c < 2; ++c) {
      std::vector<Rank> pre = {below(random, t.ranks)}, post = {below(random, t.ranks)};
      for (Rank n = 0; n < t.ranks; ++n) {
        if (n != pre.front() && below(random, 2) == 0) pre.push_back(n);
        if (n != post.front() && below(random, 2) == 0) post.push_back(n);
      }
      sums.chunks.push_back({.pre = pre, .post = post, .input = c, .output = c});
    }
    const Collective whole = refined(sums, 1 + below(random, 4));
    for (const Schedule& schedule : fit_trees(t, whole, {}, [] { return 1; }))
      EXPECT_THAT(violations(t, whole, schedule), IsEmpty());
  }
}

TEST(TimedTrees, NoneOfWhatTheyAreNotFor) {
  const auto never = [] {
    ADD_FAILURE() << "no bound is needed";
    return 1;
  };
  EXPECT_THAT(fit_trees({.name = "apart", .ranks = 2}, make_collective("allreduce", 2, 1), {}, never),
              IsEmpty());
  EXPECT_THAT(fit_trees({.name = "one", .ranks = 1}, make_collective("allreduce", 1, 1), {}, never),
              IsEmpty());
  const std::atomic<bool> stop = true;
  EXPECT_THAT(fit_trees(test::ring(4), make_collective("allreduce", 4, 1), {}, never, &stop), IsEmpty());
}

// Two DGX-1 with a NIC each: a node lacks 8 chunks, and one comes in a round. They must be told to the others
// of the node, too, the last one in a round of its own.
TEST(TimedTrees, BehindOneNic) {
  const Topology t = flatten(load_topology("dgx1:2"));
  for (const std::string name : {"allgather", "reducescatter"}) {
    SCOPED_TRACE(name);
    const Collective c = make_collective(name, 16, 1);
    EXPECT_EQ(fewest_rounds(t, c).rounds, 9);
    const std::vector<Point> points = grown_incumbents(t, c);
    ASSERT_FALSE(points.empty());
    EXPECT_LE(points.back().cost.rounds, 11);
  }
}

// Pairs of dies that are wide between them, and narrow to the others: what grows by shortest ways alone needs
// 11 rounds.
TEST(TimedTrees, OnAMi250) {
  const std::vector<Point> points =
      grown_incumbents(load_topology("mi250:1"), make_collective("allgather", 16, 5));
  ASSERT_FALSE(points.empty());
  EXPECT_LE(points.back().cost.rounds, 8);
}

}  // namespace
}  // namespace chorale
