// The engine (tests/property has what it promises): more work or chunks never give less, and where the
// optimum is known by hand it is met.
#include "construct/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "ir/collective.h"
#include "tests/kit/random.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

using test::below;
using test::random_machine;

constexpr long long kQuick = 4'000'000;
constexpr long long kSome = 24'000'000;

std::vector<Point> constructed(const EngineQuestion& question) {
  std::vector<Point> points;
  construct(question, [&](Point point) { points.push_back(std::move(point)); });
  return points;
}

double rate(const Cost& cost) {
  return static_cast<double>(cost.rounds) / cost.chunks;
}

double best_rate(const std::vector<Point>& points) {
  double best = std::numeric_limits<double>::infinity();
  for (const Point& point : points) best = std::min(best, rate(point.cost));
  return best;
}

Rate bound_of(const Topology& t, const Collective& one) {
  return rate_shown(t, one, fewest_rounds(t, one).certificate);
}

// Does some point have as few steps and as low a rate, but for a trifle?
bool covered(const std::vector<Point>& points, const Cost& cost) {
  return std::ranges::any_of(points, [&](const Point& point) {
    return point.cost.steps <= cost.steps && rate(point.cost) <= rate(cost) * 1.0021;
  });
}

TEST(Engine, KeepsToTheSpace) {
  const Topology t = load_topology("dgx1");
  const Collective one = make_collective("allreduce", 8, 1);
  for (const Point& point : constructed({.topology = t, .one = one, .max_steps = 4, .work = kQuick}))
    EXPECT_LE(point.cost.steps, 4);
  for (const Point& point : constructed({.topology = t, .one = one, .extra_rounds = 0, .work = kQuick}))
    EXPECT_EQ(point.cost.rounds, point.cost.steps);
  for (const Point& point : constructed({.topology = t, .one = one, .min_chunks = 20, .work = kQuick}))
    EXPECT_GE(point.cost.chunks, 20);
}

TEST(Engine, StopsAtOnce) {
  const Topology t = load_topology("torus:8x8");
  const Collective one = make_collective("allgather", 64, 1);
  const std::atomic<bool> stop = true;
  EXPECT_THAT(constructed({.topology = t, .one = one, .stop = &stop}), IsEmpty());
}

// dgx1 Allgather: 7 foreign chunks over 6 units of bandwidth into a rank. AllReduce: no partition leaves less
// than 7/24, which trees meet. Two DGX-1: 8 foreign blocks over one NIC of one unit into a box.
TEST(Engine, MeetsKnownBounds) {
  struct Known {
    const char* machine;
    const char* collective;
    double rate;
  };
  for (const auto& [machine, collective, rate] :
       {Known{"dgx1", "allgather", 7.0 / 6}, Known{"dgx1", "allreduce", 7.0 / 24},
        Known{"ring:5", "broadcast", 1.0 / 2}, Known{"torus:4x4", "alltoall", 8.0}}) {
    SCOPED_TRACE(std::string(machine) + " " + collective);
    const Topology t = flatten(load_topology(machine));
    const Collective one = make_collective(collective, t.ranks, 1);
    const Rate bound = bound_of(t, one);
    EXPECT_NEAR(static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks), rate, 1e-9);
    EXPECT_LE(best_rate(constructed({.topology = t, .one = one, .bound = bound, .work = kSome})),
              rate * 1.02);
  }
}

// The bound of a Broadcast is that four links lead into each rank; of an Allgather, that 255 blocks come in
// over them. What is asserted is what is promised of random 4-regular machines
// (benchmarks/results/scale.log).
TEST(EngineLong, RanksWithoutSymmetryAreNearTheirBound) {
  std::mt19937 random(7);
  const int ranks = 256;
  const Topology t = test::random_four_regular(random, ranks);
  const auto asked = [&](const char* name, Rate bound, long long work) {
    std::vector<Point> points;
    construct({.topology = t, .one = make_collective(name, ranks, 1), .bound = bound, .work = work},
              [&](Point point) { points.push_back(std::move(point)); });
    return points;
  };
  EXPECT_LE(best_rate(asked("broadcast", {.rounds = 1, .chunks = 4}, kQuick)), 1.05 / 4);
  EXPECT_LE(best_rate(asked("allgather", {.rounds = ranks - 1, .chunks = 4}, kSome)), 1.02 * (ranks - 1) / 4);
}

// A union of trees repeated: the work of a level pays for as many copies as it allows.
TEST(EngineLong, AnAllReduceWithoutSymmetryIsNearItsBoundSoon) {
  std::mt19937 random(1);
  Topology t = test::random_four_regular(random, 26);
  for (std::size_t l = 0; l < t.links.size(); l += 2)  // in both directions
    t.links[l].bandwidth = t.links[l + 1].bandwidth = 1 + below(random, 2);
  const Collective one = make_collective("allreduce", t.ranks, 1);
  const Rate bound = bound_of(t, one);
  const double rounds = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
  EXPECT_LE(best_rate(constructed({.topology = t, .one = one, .bound = bound, .work = kEngineWork / 30})),
            1.03 * rounds);
}

// What a union has in few steps takes more work than its first level may do.
TEST(EngineLong, AUnionIsPutIntoStepsAgainWithMoreWork) {
  Topology t = load_topology("torus:4x4");
  std::erase_if(t.links, [](const Link& link) { return link.src + link.dst == 1; });  // 0 and 1
  const Collective one = make_collective("allreduce", t.ranks, 1);
  const Rate bound = bound_of(t, one);
  const double least = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
  double low = std::numeric_limits<double>::infinity();
  const auto found = [&](const Point& point) {
    if (point.cost.steps <= 600) low = std::min(low, rate(point.cost));
  };
  Construction construction({.topology = t, .one = one, .bound = bound, .work = 6 * kSome});
  while (low > 1.01 * least && construction.advance(found)) continue;
  EXPECT_LE(low, 1.01 * least);
}

// Whatever the bound, a large machine has an answer of the quickest part.
TEST(EngineLong, TheFirstPartOfALargeMachineIsAnAnswer) {
  std::mt19937 random(7);
  const Topology t = test::random_four_regular(random, 256);
  for (const char* const name : {"allgather", "reducescatter", "broadcast", "allreduce"}) {
    const Collective one = make_collective(name, t.ranks, 1);
    Construction construction({.topology = t, .one = one});
    int found = 0;
    for (int part = 0; part < 2 && found == 0; ++part) construction.advance([&](const Point&) { ++found; });
    EXPECT_GT(found, 0) << name;
  }
}

// Where digits turn each rank into each, what one does all do: exact at once, and before what relaxations at
// sends.
TEST(Engine, RegularMachinesAreExactAtOnce) {
  const struct {
    const char *machine, *collective;
    int steps, rounds;
  } kExact[] = {{"torus:16x16", "allgather", 16, 64},      // 255 blocks over four links
                {"torus:16x16", "reducescatter", 16, 64},  // its dual
                {"torus:16x16", "alltoall", 16, 512},      // 256 * 256 * 8 hops over 1,024 links
                {"hypercube:8", "alltoall", 8, 128}};      // 256 * 256 * 4 hops over 2,048 links
  for (const auto& [machine, collective, steps, rounds] : kExact) {
    const Topology t = load_topology(machine);
    const Collective one = make_collective(collective, t.ranks, 1);
    std::vector<Point> first;
    Construction({.topology = t, .one = one}).advance([&](Point p) { first.push_back(std::move(p)); });
    ASSERT_THAT(first, Not(IsEmpty())) << machine;
    EXPECT_EQ(best_rate(first), rounds) << machine << " " << collective;
    EXPECT_TRUE(std::ranges::any_of(first, [&](const Point& p) { return p.cost.steps == steps; }));
  }
}

// Or has it not much more over the bound, and fewer steps? The engine leaves such points out
// (construct/engine.h).
bool nearly_covered(const std::vector<Point>& points, const Cost& cost, const Rate& bound) {
  constexpr double kNearer = 0.85;
  const double least = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
  return covered(points, cost) || std::ranges::any_of(points, [&](const Point& point) {
           return point.cost.steps <= cost.steps &&
                  kNearer * (rate(point.cost) - least) <= rate(cost) - least + 1e-9;
         });
}

// As the search asks: first without a bound, then with one and the promise of more, then all. Nothing is lost
// against asking once with the bound, and no schedule comes twice.
TEST(EngineLong, WorkInStagesFindsNoLess) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 6; ++trial) {
    const Topology t = random_machine(random);
    const Collective one = test::random_collective(
        random, t.ranks, {.most_per_block = 1, .relation = test::Communications::Relation::OneSource});
    const Rate bound = bound_of(t, one);
    std::vector<Point> staged;
    const auto keep = [&](Point point) { staged.push_back(std::move(point)); };
    Construction construction({.topology = t, .one = one, .work = kQuick});
    while (construction.advance(keep)) {
    }
    construction.know(bound);
    for (const bool more_later : {true, false}) {
      construction.allow(kSome, more_later);
      while (construction.advance(keep)) {
      }
    }
    for (const Point& point : constructed({.topology = t, .one = one, .bound = bound, .work = kSome}))
      EXPECT_TRUE(nearly_covered(staged, point.cost, bound))
          << "trial " << trial << ": " << point.construction << " " << point.cost.steps << " "
          << point.cost.rounds << " " << point.cost.chunks;
    for (std::size_t i = 0; i < staged.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(staged[i].cost == staged[j].cost && staged[i].schedule == staged[j].schedule);
  }
}

// Packings of many chunks that cannot beat what is known elsewhere are not made; few steps come as before.
TEST(Engine, LeavesOutWhatIsBeaten) {
  std::mt19937 random(12);
  int all = 0, left = 0;
  for (int trial = 0; trial < 3; ++trial) {
    const Topology t = random_machine(random);
    const Collective one = make_collective("allgather", t.ranks, 1);
    const Rate bound = bound_of(t, one);
    const auto asked = [&](double known, int& parts) {
      Construction construction({.topology = t, .one = one, .bound = bound, .work = 6 * kSome});
      construction.know_found(known);
      int fewest = std::numeric_limits<int>::max();
      while (construction.advance([&](const Point& point) { fewest = std::min(fewest, point.cost.steps); }))
        ++parts;
      return fewest;
    };
    const double met = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
    EXPECT_EQ(asked(met, left), asked(std::numeric_limits<double>::infinity(), all));
  }
  EXPECT_LT(left, all);
}
// Of one cost, by two constructions: where links differ the second may be the faster, so it is found where
// times are asked for, once each.
TEST(Engine, FindsWhatCostsAsMuchWhereTimesAreAskedFor) {
  int machines = 0;
  for (const char* name : {"torus:4x4", "hypercube:3", "dgx1", "ring:6"}) {
    const Topology t = load_topology(name);
    const Collective one = make_collective("alltoall", t.ranks, 1);
    const auto pairs = [&](bool is_timed) {
      const std::vector<Point> points =
          constructed({.topology = t, .one = one, .work = kQuick, .is_timed = is_timed});
      int pairs = 0;
      for (std::size_t a = 0; a < points.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
          if (points[a].cost.steps == points[b].cost.steps && rate(points[a].cost) == rate(points[b].cost)) {
            ++pairs;
            EXPECT_NE(points[a].construction, points[b].construction);
          }
      return pairs;
    };
    EXPECT_EQ(pairs(false), 0) << name;
    machines += pairs(true) > 0;
  }
  EXPECT_GT(machines, 0);
}

// On a mesh all links are full, and what is packed at prices comes near only with far more work.
TEST(EngineLong, SpanningTreesComeBeforePacking) {
  const Topology t = load_topology("mesh:5x5");
  const Collective one = make_collective("allreduce", t.ranks, 1);
  Construction construction({.topology = t, .one = one, .bound = bound_of(t, one), .work = kSome});
  double least = std::numeric_limits<double>::infinity();
  int parts = 0, first = 0;
  const auto found = [&](const Point& point) {
    if (point.construction == "tree_union" && first == 0) first = parts;
    least = std::min(least, static_cast<double>(point.cost.rounds) / point.cost.chunks);
  };
  while (construction.advance(found)) ++parts;
  EXPECT_GT(first, 0);
  EXPECT_LT(first, parts / 2);
  const Rate bound = bound_of(t, one);
  EXPECT_LE(least, 1.02 * static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks));
}

// With k = 0 each round is a step of its own, so thousands of chunks would be tens of thousands of steps,
// more than a check of the result relaxations at.
TEST(Engine, NoMoreStepsWhereEachRoundIsOne) {
  Topology t{.name = "four", .ranks = 4};
  for (const auto& [a, b, bandwidth] :
       {std::tuple{2, 3, 3}, {3, 2, 3}, {3, 1, 1}, {1, 0, 2}, {0, 1, 2}, {0, 2, 2}})
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
  const Collective one = make_collective("reducescatter", t.ranks, 1);
  const std::vector<Point> points =
      constructed({.topology = t, .one = one, .extra_rounds = 0, .bound = bound_of(t, one)});
  ASSERT_THAT(points, Not(IsEmpty()));
  for (const Point& point : points) {
    EXPECT_LE(point.cost.rounds, point.cost.steps);
    EXPECT_LE(point.cost.steps, 4000);
  }
}

}  // namespace
}  // namespace chorale
