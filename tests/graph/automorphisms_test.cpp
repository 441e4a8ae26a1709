#include "graph/automorphisms.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

Topology machine(const std::string& name) {
  return flatten(named_topology(name));
}

std::vector<int> alike(const Topology& t) {
  return std::vector<int>(t.ranks, 0);
}

double order_of(const std::string& name) {
  const Topology t = machine(name);
  return symmetry_group(t, alike(t)).order;
}

TEST(SymmetryGroup, HasTheKnownOrders) {
  EXPECT_EQ(order_of("ring:8"), 16);  // dihedral
  EXPECT_EQ(order_of("line:4"), 2);
  EXPECT_EQ(order_of("full:5"), 120);
  EXPECT_EQ(order_of("star:5"), 24);
  EXPECT_EQ(order_of("hypercube:3"), 48);
  EXPECT_EQ(order_of("torus:4x4"), 384);  // that of hypercube:4, which it is
  EXPECT_EQ(order_of("torus:5x5"), 200);
  EXPECT_EQ(order_of("dgx1"), 4);
}

TEST(SymmetryGroup, ColoursMustBeKept) {
  const Topology t = machine("ring:8");
  std::vector<int> root = alike(t);
  root[0] = 1;
  EXPECT_EQ(symmetry_group(t, root).order, 2);
}

TEST(SymmetryGroup, GeneratorsCarryLinksToLinks) {
  for (const char* name : {"dgx1", "hub:6", "torus:4x4", "dgx-a100:2"}) {
    const Topology t = machine(name);
    for (const Automorphism& g : symmetry_group(t, alike(t)).generators) {
      for (std::size_t l = 0; l < t.links.size(); ++l) {
        const Link &from = t.links[l], &to = t.links[g.links[l]];
        EXPECT_EQ(g.ranks[from.src], to.src);
        EXPECT_EQ(g.ranks[from.dst], to.dst);
        EXPECT_EQ(from.bandwidth, to.bandwidth);
      }
      for (std::size_t i = 0; i < t.limits.size(); ++i) {
        std::set<LinkId> image;
        for (LinkId l : t.limits[i].links) image.insert(g.links[l]);
        const auto& target = t.limits[g.limits[i]].links;
        EXPECT_EQ(image, std::set<LinkId>(target.begin(), target.end()));
      }
    }
  }
}

TEST(SymmetryGroup, ADifferentBandwidthBreaksIt) {
  Topology t = machine("ring:8");
  t.links[0].bandwidth = 2;
  EXPECT_EQ(symmetry_group(t, alike(t)).order, 1);
}

std::size_t size_of(const std::vector<Automorphism>& generators, int ranks) {
  std::vector<Rank> identity(ranks);
  std::iota(identity.begin(), identity.end(), 0);
  std::set<std::vector<Rank>> seen = {identity};
  std::vector<std::vector<Rank>> open = {identity};
  while (!open.empty()) {
    const std::vector<Rank> at = open.back();
    open.pop_back();
    for (const Automorphism& g : generators) {
      std::vector<Rank> next(ranks);
      for (Rank r = 0; r < ranks; ++r) next[r] = g.ranks[at[r]];
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return seen.size();
}

// Of the machines that look the same from every rank, the whole of a free group is found.
TEST(CandidateSubgroups, AreAsLargeAsTheMachine) {
  for (const char* name : {"ring:8", "hypercube:3", "torus:4x4", "torus:8x8", "hypercube:6", "full:8"}) {
    const Topology t = machine(name);
    const auto subgroups = candidate_subgroups(t, alike(t));
    ASSERT_GT(subgroups.size(), 1U) << name;
    // The whole group, then one that carries any rank to any other in just one way.
    EXPECT_EQ(static_cast<double>(size_of(subgroups[0], t.ranks)), symmetry_group(t, alike(t)).order) << name;
    EXPECT_EQ(size_of(subgroups[1], t.ranks), static_cast<std::size_t>(t.ranks)) << name;
  }
}

TEST(Automorphism, ComposesAndCounts) {
  const Topology t = machine("ring:8");
  const auto turn = automorphism(t, {1, 2, 3, 4, 5, 6, 7, 0});
  ASSERT_TRUE(turn);
  EXPECT_EQ(order(*turn), 8);
  EXPECT_EQ(order(compose(*turn, *turn)), 4);
  EXPECT_FALSE(automorphism(t, {1, 0, 2, 3, 4, 5, 6, 7}));
}

// In a ring all look alike, and one link that is slower distinguishes all of them, by how far they are from
// either end; in a line the ends are alike, and so are those beside them.
TEST(DifferentRanks, AreOneOfEachKind) {
  Topology ring{.name = "ring", .ranks = 6};
  for (Rank n = 0; n < 6; ++n) {
    ring.links.push_back({.src = n, .dst = (n + 1) % 6});
    ring.links.push_back({.src = (n + 1) % 6, .dst = n});
  }
  EXPECT_EQ(different_ranks(ring), std::vector<Rank>({0}));
  Topology slow = ring;
  slow.links[0].beta_us_per_byte *= 2;  // 0 -> 1
  EXPECT_EQ(different_ranks(slow), std::vector<Rank>({0, 1, 2, 3, 4, 5}));
  Topology line{.name = "line", .ranks = 5};
  for (Rank n = 0; n + 1 < 5; ++n) {
    line.links.push_back({.src = n, .dst = n + 1});
    line.links.push_back({.src = n + 1, .dst = n});
  }
  EXPECT_EQ(different_ranks(line), std::vector<Rank>({0, 1, 2}));
  // A limit that links of one rank share.
  Topology limited = ring;
  limited.limits.push_back({.name = "out of 0", .links = {0, 11}, .bandwidth = 1});
  EXPECT_EQ(different_ranks(limited), std::vector<Rank>({0, 1, 2, 3}));
  EXPECT_EQ(different_ranks({.name = "alone", .ranks = 1}), std::vector<Rank>({0}));
}

}  // namespace
}  // namespace chorale
