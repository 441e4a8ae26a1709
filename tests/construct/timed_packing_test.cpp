// Packings on the time-expanded machine (tests/property has what they promise): what is known is beaten or
// left alone; exact synthesis reports how near they come on tiny machines, and bounds on machines whose
// optimum is known.
#include "construct/engine/timed_packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "bounds/lower_bounds.h"
#include "construct/engine/network.h"
#include "construct/engine/timed_load.h"
#include "construct/incumbents.h"
#include "graph/automorphisms.h"
#include "pareto/instance_solver.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "tests/semantics/machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

using test::below;
using test::random_machine;

int bound_of(const Topology& t, const Collective& c) {
  return fewest_rounds(t, c).rounds;
}

std::vector<Schedule> packed(const Topology& t, const Collective& c,
                             const std::vector<Schedule>& known = {}) {
  return timed_packing(t, c, known, [&] { return bound_of(t, c); });
}

// Of at most this many steps.
int fewest(const std::vector<Schedule>& schedules, int steps) {
  int rounds = std::numeric_limits<int>::max();
  for (const Schedule& schedule : schedules)
    if (std::ssize(schedule.steps) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

Collective random_copies(std::mt19937& random, int ranks, int most_chunks) {
  const bool broadcast = below(random, 3) == 0;
  return make_collective(broadcast ? "broadcast" : "allgather", ranks, 1 + below(random, most_chunks),
                         broadcast ? below(random, ranks) : 0);
}

TEST(TimedPacking, AskedAgainOnlyWhatIsBetter) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, {.most_ranks = 6, .most_limits = 2});
    const Collective c = seed % 2 == 0 ? random_copies(random, t.ranks, 6)
                                       : make_collective("allreduce", t.ranks, 1 + below(random, 5));
    const std::vector<Schedule> schedules = packed(t, c);
    for (const Schedule& better : packed(t, c, schedules))
      EXPECT_LT(total_rounds(better), fewest(schedules, static_cast<int>(better.steps.size())));
  }
}
// Exact synthesis knows the fewest rounds of this many steps.
TEST(TimedPacking, NearTheBestOfTinyMachines) {
  int asked = 0, best = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, {.most_ranks = 5, .most_limits = 2});
    const Collective c = random_copies(random, t.ranks, 3);
    for (const Schedule& schedule : packed(t, c)) {
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
// A tree has 15 of the 31 pairs of links that are left, so 31 chunks take 15 rounds at least. In 8 steps,
// four to a rank and four back, trees that are packed first need 35 rounds.
TEST(TimedPacking, FewStepsWhereALinkFailed) {
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
// 40 rounds by the weakest partition; many chunks come near them in a pipeline only
// (construct/engine/order.h).
TEST(TimedPacking, OnAMeshTreesAreBetterThanTheHalves) {
  const Topology t = load_topology("mesh:4x4");
  const std::vector<Point> points = grown_incumbents(t, make_collective("allreduce", 16, 64));
  ASSERT_FALSE(points.empty());
  EXPECT_LT(points.back().cost.rounds, 60);  // the halves
}
// Of many chunks one tree stands for several, and in 11 steps there is what a pipeline over packed trees
// needs 23 for.
TEST(TimedPacking, OfManyChunksATreeStandsForSeveral) {
  Topology t = load_topology("torus:4x4");
  std::erase_if(t.links, [](const Link& link) { return link.src + link.dst == 1; });
  const Collective c = make_collective("allreduce", 16, 1984);
  const std::vector<Schedule> schedules = timed_packing(t, c, {}, [] { return 960; });
  ASSERT_FALSE(schedules.empty());
  for (const Schedule& schedule : schedules) EXPECT_THAT(violations(t, c, schedule), IsEmpty());
  EXPECT_TRUE(std::ranges::any_of(
      schedules, [](const Schedule& s) { return s.steps.size() <= 11 && total_rounds(s) <= 1130; }));
}

// 15 chunks come to each rank over its one link: no schedule takes fewer than 15 rounds, and growth takes
// four steps.
TEST(TimedPacking, LeavesAndSpinesAtTheBoundInTwoSteps) {
  const Topology t = flatten(load_topology("leaf-spine:4x4x2"));
  const Collective c = make_collective("allgather", 16, 1);
  for (const Point& point : grown_incumbents(t, c))
    if (point.cost.steps == 2) {
      EXPECT_EQ(point.cost.rounds, 15);
      return;
    }
  ADD_FAILURE() << "nothing in two steps";
}
// Two boxes of eight ranks, each behind a wire of one unit. All eight chunks of a box come over the wire of
// the other at least once, so eight rounds per chunk are needed, and more in three steps, since in the last
// one what comes in is spread no more.
TEST(TimedPacking, BoxesBehindOneWire) {
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
  const std::vector<Schedule> schedules = packed(t, c);
  for (const Schedule& schedule : schedules) EXPECT_THAT(violations(t, c, schedule), IsEmpty());
  // Growth has none, and negotiated trees have 54 in 3 steps and 46 in 4.
  EXPECT_LE(fewest(schedules, 3), 38);
  EXPECT_LE(fewest(schedules, 5), 36);
}
// Two DGX-1 with a NIC each: a node lacks 8 chunks, and one comes in a round. They must be told to the others
// of the node, too, the last one in a round of its own.
TEST(TimedPacking, BehindOneNic) {
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
// Four boxes of two ranks, each behind a NIC of one unit. Trees that were whole at any step alike, and grown
// path by path, had 17 rounds in 4 steps.
TEST(TimedPacking, SumsMeetHalfWayInFewSteps) {
  constexpr int kBoxes = 4, kRanks = 2 * kBoxes;
  Topology t{.name = "boxes", .ranks = kRanks, .switches = kBoxes + 1};
  const auto join = [&](Node a, Node b, int bandwidth) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
    t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
  };
  for (Rank n = 0; n < kRanks; ++n) join(n, kRanks + n / 2, 4);
  for (int box = 0; box < kBoxes; ++box) join(kRanks + box, kRanks + kBoxes, 1);
  t = flatten(t);
  const Collective c = make_collective("allreduce", kRanks, kRanks);
  const std::vector<Schedule> schedules = packed(t, c);
  for (const Schedule& schedule : schedules) EXPECT_THAT(violations(t, c, schedule), IsEmpty());
  EXPECT_LE(fewest(schedules, 4), 15);
}
// Pairs of dies that are wide between them, and narrow to the others: what grows by shortest ways alone needs
// 11 rounds.
TEST(TimedPacking, OnAMi250) {
  const std::vector<Point> points =
      grown_incumbents(load_topology("mi250:1"), make_collective("allgather", 16, 5));
  ASSERT_FALSE(points.empty());
  EXPECT_LE(points.back().cost.rounds, 8);
}

// The rank opposite is reached in both directions, which no turned schedule of one chunk can: each rank goes
// its own ways.
TEST(TimedPacking, WithoutTheGroupWhereThatIsBetter) {
  const Topology t = test::ring(4);
  const Collective c = make_collective("alltoall", 4, 1);  // 4 * (1 + 1 + 2) hops over 8 links
  const std::vector<Schedule> schedules = timed_packing(t, c, {}, [] { return 2; });
  ASSERT_FALSE(schedules.empty());
  EXPECT_EQ(total_rounds(schedules.back()), 2);
}
TEST(TimedPacking, NoneOfWhatTheyAreNotFor) {
  EXPECT_THAT(packed(test::ring(3), {.ranks = 3, .chunks = {{.pre = {0, 1}, .post = {1}}}}), IsEmpty());
  const auto never = [] {
    ADD_FAILURE() << "no bound is needed";
    return 1;
  };
  EXPECT_THAT(timed_packing({.name = "apart", .ranks = 2}, make_collective("allreduce", 2, 1), {}, never),
              IsEmpty());
  EXPECT_THAT(timed_packing({.name = "one", .ranks = 1}, make_collective("allreduce", 1, 1), {}, never),
              IsEmpty());
  const std::atomic<bool> stop = true;
  EXPECT_THAT(timed_packing(test::ring(4), make_collective("allreduce", 4, 1), {}, never, &stop), IsEmpty());
}
// Prices of a step by the formula of the header: each link and limit by itself, its sends counted.
double plain_price(const LinkOrbits& orbits, const Step& step, LinkId l, double sharpness, double floor) {
  std::vector<double> rounds(orbits.capacities().size(), 0);
  for (const Send& send : step.sends)
    for (const LinkOrbits::Share& share : orbits.shares(send.link))
      rounds[share.bin] +=
          static_cast<double>(share.weight) / static_cast<double>(orbits.capacities()[share.bin]);
  const double most = std::ranges::max(rounds), scale = std::max(most, floor);
  double all = floor > 0 && most <= floor ? 1 : 0, sum = 0;
  for (double of : rounds) all += std::exp(sharpness * (of / scale - 1));
  for (const LinkOrbits::Share& share : orbits.shares(l)) {
    const double more = share.weight / static_cast<double>(orbits.capacities()[share.bin]);
    sum += scale == 0 ? more : more * std::exp(sharpness * (rounds[share.bin] / scale - 1)) / all;
  }
  return sum;
}

std::vector<double> prices_of(const TimedLoad& load, LinkId l, int steps) {
  std::vector<double> prices;
  for (int s = 0; s < steps; ++s) prices.push_back(load.price(l, s));
  return prices;
}

// Held against counting the sends of each step, where links share limits, some with other weights; also where
// prices are so sharp that a full step makes an empty one as good as free.
TEST(TimedLoad, CountsWhatStepsNeedAndPricesByTheFormula) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, {.most_ranks = 6, .most_limits = 2});
    const std::vector<std::vector<Rank>> alone = identity_alone(t.ranks);
    const LinkOrbits orbits(t, alone);
    const double sharpness = seed % 3 == 0 ? 2 : seed % 3 == 1 ? 0.1 : 200;
    constexpr int kSteps = 3;
    TimedLoad load(t, orbits, kSteps);
    const double floor = seed % 2 == 0 ? 0 : 1.5;
    load.price_smoothly(sharpness, floor);
    std::vector<Step> steps(kSteps);
    std::vector<double> prices(kSteps), before(kSteps);
    for (int i = 0; i < 60; ++i) {
      const int s = below(random, kSteps);
      std::vector<Send>& sends = steps[s].sends;
      if (!sends.empty() && below(random, i < 30 ? 3 : 2) == 0) {
        load.add({{.step = s, .link = sends.back().link}}, -1);
        sends.pop_back();
        continue;
      }
      const LinkId l = below(random, static_cast<int>(t.links.size()));
      before = prices_of(load, l, kSteps);
      load.add({{.step = s, .link = l}}, 1);
      prices = prices_of(load, l, kSteps);
      sends.push_back({.link = l});
      for (int other = 0; other < kSteps; ++other) {
        EXPECT_GT(prices[other], 0);
        if (other != s) {
          EXPECT_EQ(prices[other], before[other]);
        }
        const double plain = plain_price(orbits, steps[other], l, sharpness, floor);
        // 1e-7 is added, or a price might be 0.
        EXPECT_NEAR(prices[other], plain + 1e-7, 1e-6 * plain + 1e-9);
      }
      // It is fuller; an empty one costs as much as one bin that is full.
      if (sends.size() > 1) {
        EXPECT_GE(prices[s], before[s] * (1 - 1e-6));
      }
    }
    const std::vector<int> rounds = load.rounds();
    for (int s = 0; s < kSteps; ++s)
      EXPECT_EQ(rounds[s], steps[s].sends.empty() ? 0 : needed_rounds(t, steps[s]));
  }
}
// What is over, and its price, by counting: two links of width 1 and 2, both in a step of one round.
TEST(TimedLoad, NegotiatesWhatIsOver) {
  const Topology t{
      .name = "two", .ranks = 2, .links = {{.src = 0, .dst = 1}, {.src = 1, .dst = 0, .bandwidth = 2}}};
  const std::vector<std::vector<Rank>> alone = identity_alone(2);
  const LinkOrbits orbits(t, alone);
  TimedLoad load(t, orbits, 2);
  load.negotiate({1, 0});
  EXPECT_EQ(load.price(0, 0), 1);    // there is room
  EXPECT_EQ(load.price(1, 0), 0.5);  // of twice the width
  EXPECT_GT(load.price(0, 1), 1);    // a step without rounds
  const TimedSends both = {{.step = 0, .link = 0}, {.step = 0, .link = 1}};
  load.add(both, 1);
  EXPECT_EQ(load.overflow(), 0);
  EXPECT_GT(load.price(0, 0), 1);
  EXPECT_EQ(load.price(1, 0), 0.5);
  load.add(both, 1);
  EXPECT_EQ(load.overflow(), 1);
  EXPECT_TRUE(load.overloaded({{.step = 0, .link = 0}}));
  EXPECT_FALSE(load.overloaded({{.step = 0, .link = 1}}));
  EXPECT_EQ(load.rounds(), std::vector<int>({2, 0}));
  const double before = load.price(0, 0);
  load.raise();
  EXPECT_GT(load.price(0, 0), before);
  load.add(both, -2);
  EXPECT_GT(load.price(0, 0), 1);  // history
  EXPECT_EQ(load.price(1, 0), 0.5);
  EXPECT_TRUE(load.narrow());
  EXPECT_FALSE(load.narrow());  // no round is left
}

// What orbits say of some sends is what all that the group makes of them take, limit by limit.
TEST(LinkOrbits, CountWhatTheGroupCarries) {
  std::mt19937 random(1);
  for (const std::string name : {"torus:4x4", "hypercube:3", "dgx-a100:2", "dgx2", "ring:6"}) {
    SCOPED_TRACE(name);
    const Topology t = flatten(load_topology(name));
    const std::vector<std::vector<Rank>> group = digit_shifts(t);
    ASSERT_GT(group.size(), 1U);
    const LinkOrbits orbits(t, group);
    for (int tries = 0; tries < 20; ++tries) {
      Step step;
      std::vector<long long> load(orbits.capacities().size(), 0);
      for (int sends = 1 + below(random, 30); sends > 0; --sends) {
        const LinkId l = below(random, static_cast<int>(t.links.size()));
        for (const LinkOrbits::Share& share : orbits.shares(l)) load[share.bin] += share.weight;
        for (int g = 0; g < static_cast<int>(group.size()); ++g) {
          const LinkId image = orbits.image(l, g);
          EXPECT_EQ(t.links[image].src, group[g][t.links[l].src]);
          EXPECT_EQ(t.links[image].dst, group[g][t.links[l].dst]);
          EXPECT_EQ(orbits.entering(image), orbits.entering(l));
          step.sends.push_back({.link = image});
        }
      }
      long long rounds = 1;
      for (std::size_t b = 0; b < load.size(); ++b)
        rounds = std::max(rounds, (load[b] + orbits.capacities()[b] - 1) / orbits.capacities()[b]);
      EXPECT_EQ(rounds, needed_rounds(t, step));
    }
  }
}
}  // namespace
}  // namespace chorale
