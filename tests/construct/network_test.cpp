// A machine up to its symmetries against the whole machine: what one rank sends stands for what all send.
#include "construct/engine/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/engine.h"
#include "construct/engine/jobs.h"
#include "construct/engine/packer.h"
#include "construct/engine/solved_question.h"
#include "graph/automorphisms.h"
#include "tests/kit/random.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using test::below;

// Links from each rank to those some distances on, and limits over some of what each rank, or each rank and
// the one halfway around, sends.
Topology random_circulant(std::mt19937& random) {
  const int half = 2 + below(random, 5);
  Topology t{.name = "circulant", .ranks = 2 * half};
  const int kinds = 1 + below(random, 3);
  for (int k = 0; k < kinds; ++k) {
    const int distance = k == 0 ? 1 : 1 + below(random, t.ranks - 1), bandwidth = 1 + below(random, 3);
    for (Rank n = 0; n < t.ranks; ++n)
      t.links.push_back({.src = n, .dst = (n + distance) % t.ranks, .bandwidth = bandwidth});
  }
  const auto link = [&](int kind, Rank n) { return kind * t.ranks + n % t.ranks; };
  const int of_rank = below(random, 3), of_pair = below(random, 3);  // 0: none
  if (of_rank > 0)
    for (Rank n = 0; n < t.ranks; ++n) {
      t.limits.push_back({.links = {}, .bandwidth = of_rank});
      for (int k = 0; k < kinds; ++k) t.limits.back().links.push_back(link(k, n));
    }
  if (of_pair > 0)
    for (Rank n = 0; n < half; ++n)
      t.limits.push_back({.links = {link(0, n), link(0, n + half)}, .bandwidth = of_pair});
  for (SharedLimit& limit : t.limits) std::ranges::sort(limit.links);
  return t;
}

double rounds(const Network& network, const std::vector<LinkId>& sends) {
  std::vector<double> load(network.bins(), 0);
  for (const LinkId l : sends)
    for (const int b : network.bins_of(l)) ++load[b];
  double most = 0;
  for (int b = 0; b < network.bins(); ++b) most = std::max(most, load[b] / network.capacity(b));
  return most;
}

TEST(Network, UpToSymmetryLoadsAreThoseOfTheWholeMachine) {
  int symmetric = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Topology t = random_circulant(random);
    const std::vector<std::vector<Rank>> group = digit_shifts(t);
    const std::optional<Network> network = Network::up_to(t, group);
    ASSERT_TRUE(network);
    ASSERT_EQ(network->order(), std::ssize(group));
    symmetric += network->order() == t.ranks ? 1 : 0;
    std::vector<LinkId> sends, all;
    for (int i = 1 + below(random, 12); i > 0; --i) {
      sends.push_back(below(random, static_cast<int>(t.links.size())));
      for (int g = 0; g < network->order(); ++g) {
        all.push_back(network->image(sends.back(), g));
        EXPECT_EQ(network->src(all.back()), group[g][network->src(sends.back())]);
        EXPECT_EQ(network->dst(all.back()), group[g][network->dst(sends.back())]);
      }
    }
    EXPECT_DOUBLE_EQ(rounds(*network, sends), rounds(Network(t), all));
  }
  EXPECT_GT(symmetric, 150);
}

TEST(Network, UnequalPartsOfALimitAreNoBin) {
  Topology t{.name = "unequal", .ranks = 4};
  for (const int distance : {1, 2})
    for (Rank n = 0; n < 4; ++n) t.links.push_back({.src = n, .dst = (n + distance) % 4});
  for (Rank n = 0; n < 4; ++n)  // two links of one distance, one of the other
    t.limits.push_back({.links = {n % 2, n % 2 + 2, 4 + n}, .bandwidth = 1});
  const std::vector<std::vector<Rank>> group = digit_shifts(t);
  ASSERT_EQ(group.size(), 4u);
  EXPECT_FALSE(Network::up_to(t, group));
}

TEST(ClassOrbits, OnlyOfCommunicationsThatTheGroupKeeps) {
  const std::vector<std::vector<Rank>> group = digit_shifts(named_topology("torus:3x4"));
  ASSERT_EQ(group.size(), 12u);
  const auto orbits = [&](const Collective& c) { return class_orbits(moving_classes(c), group); };
  const auto alltoall = orbits(make_collective(CollectiveKind::Alltoall, 12, 2));
  ASSERT_TRUE(alltoall);
  EXPECT_EQ(alltoall->representatives.size(), 11u);
  EXPECT_EQ(orbits(make_collective(CollectiveKind::Allgather, 12, 1))->representatives.size(), 1u);
  EXPECT_FALSE(orbits(make_collective(CollectiveKind::Broadcast, 12, 1)));
  const auto allreduce = orbits(make_collective(CollectiveKind::AllReduce, 12, 1));
  EXPECT_EQ(allreduce->unit, 12);
  std::set<std::size_t> numbers;
  for (const ClassOrbits::Image& image : allreduce->images.front())
    for (const std::size_t of : {0, 1}) numbers.insert(allreduce->number(of, image));
  EXPECT_EQ(numbers.size(), 24u);
  EXPECT_EQ(*numbers.rbegin(), 23u);
  Collective uneven = make_collective(CollectiveKind::Allgather, 12, 1);
  uneven.chunks.push_back(uneven.chunks.front());
  EXPECT_FALSE(orbits(uneven));
}

// The engine verifies what it finds. Here: that packing one rank's chunks for all comes near to the bound.
TEST(EngineLong, SymmetricMachinesArePackedThroughOneRank) {
  int near = 0, all = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Topology t = random_circulant(random);
    for (const CollectiveKind kind : {CollectiveKind::Allgather, CollectiveKind::ReduceScatter,
                                      CollectiveKind::Alltoall, CollectiveKind::AllReduce}) {
      const Collective one = make_collective(kind, t.ranks, 1);
      const Rate bound = rate_shown(t, one, fewest_rounds(t, one).certificate);
      double best = 1e9;
      construct({.topology = t, .one = one, .bound = bound, .work = 24'000'000}, [&](const Point& point) {
        best = std::min(best, static_cast<double>(point.cost.rounds) / point.cost.chunks);
      });
      near += best * static_cast<double>(bound.chunks) < 1.03 * static_cast<double>(bound.rounds) ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(near, all - 3);
}

// The work of the first level, which used to end before each of 64 trees had been there once.
TEST(Packer, LittleWorkGivesTreesNearTheBoundOnALargeMachine) {
  for (const char* const name : {"dgx-a100:64", "torus:32x32"}) {
    SCOPED_TRACE(name);
    const Topology t = named_topology(name);
    const Collective one = make_collective(CollectiveKind::Allgather, t.ranks, 1);
    const Rate bound = rate_shown(t, one, fewest_rounds(t, one).certificate);
    const double rate = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
    const std::optional<Commodities> symmetric = up_to_symmetry(each_class(t, one));
    ASSERT_TRUE(symmetric);
    Packer packer(*symmetric, false);
    packer.improve(rate, true, 16 * packer.sweep(), nullptr);
    ASSERT_TRUE(packer.has_trees());
    EXPECT_LT(packer.rounds(), 1.05 * rate);
  }
}

TEST(EngineLong, LargeAlltoallsMeetTheirBoundWithLittleWork) {
  const std::pair<const char*, int> machines[] = {{"dgx-a100:64", 504}, {"mesh:16x16", 1024}};
  for (const auto& [name, bound] : machines) {
    SCOPED_TRACE(name);
    const Topology t = named_topology(name);
    double best = 1e9;
    construct({.topology = t,
               .one = make_collective(CollectiveKind::Alltoall, t.ranks, 1),
               .bound = {.rounds = bound},
               .work = 4'000'000},
              [&](const Point& point) { best = std::min<double>(best, point.cost.rounds); });
    EXPECT_EQ(best, bound);
  }
}

}  // namespace
}  // namespace chorale
