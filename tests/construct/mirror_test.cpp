// Of machines with a way back for each link an Allgather backwards is a ReduceScatter; others have no mirror.
#include "construct/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "construct/engine.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

// Each link of a random machine once more, in the other direction; and each limit.
Topology both_ways(std::mt19937& random) {
  Topology t = test::random_machine(random);
  const auto links = static_cast<int>(t.links.size());
  for (LinkId l = 0; l < links; ++l) {
    Link back = t.links[l];
    std::swap(back.src, back.dst);
    t.links.push_back(back);
  }
  for (std::size_t i = 0, limits = t.limits.size(); i < limits; ++i) {
    SharedLimit back = t.limits[i];
    for (LinkId& l : back.links) l += links;
    t.limits.push_back(back);
  }
  return t;
}

// A machine of parallel links may have a mirror that is not looked for; most have one that is.
TEST(Mirror, AnAllgatherBackwardsIsAReduceScatter) {
  std::mt19937 random(7);
  int mirrors = 0;
  for (int i = 0; i < 60; ++i) {
    const Topology t = both_ways(random);
    const std::optional<std::vector<LinkId>> mirror = mirror_of(t);
    if (!mirror) continue;
    ++mirrors;
    construct({.topology = t, .one = make_collective("allgather", t.ranks, 1), .work = 4'000'000},
              [&](const Point& point) {
                const Collective sums = make_collective("reducescatter", t.ranks, point.cost.chunks);
                const Point turned = mirrored(point, sums, *mirror);
                EXPECT_EQ(turned.cost, point.cost);
                EXPECT_THAT(violations(t, sums, turned, 1), IsEmpty());
              });
  }
  EXPECT_GE(mirrors, 10);
}

TEST(Mirror, OfNamedMachinesAndNotOfOneWayRings) {
  for (const char* name : {"dgx1", "dgx-a100:2", "mi250:1", "torus:3x3", "hub:5"})
    EXPECT_TRUE(mirror_of(flatten(named_topology(name)))) << name;
  Topology ring{.name = "one way", .ranks = 3};
  for (Rank n = 0; n < 3; ++n) ring.links.push_back({.src = n, .dst = (n + 1) % 3});
  EXPECT_FALSE(mirror_of(ring));
  Topology uneven = flatten(named_topology("ring:4"));
  uneven.links[0].bandwidth = 2;
  EXPECT_FALSE(mirror_of(uneven));
  Topology limited = flatten(named_topology("ring:4"));
  limited.limits.push_back({.name = "one way", .links = {0}, .bandwidth = 1});
  EXPECT_FALSE(mirror_of(limited));
}

}  // namespace
}  // namespace chorale
