// Machines that have a mirror, and others; tests/property has what is made with it.
#include <gtest/gtest.h>

#include "construct/engine/solved_question.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

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
