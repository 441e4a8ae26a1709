// Late entries: rounds that can be told by hand, what a solver that knows no bounds finds, and what the
// checker refuses.
#include "bounds/late_arrivals.h"

#include <gtest/gtest.h>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Two boxes of ranks that are all joined, this many units each, and one link of one unit from box to box per
// direction.
Topology two_boxes(int ranks, int inside) {
  Topology t{.name = "two boxes", .ranks = 2 * ranks};
  for (Rank n = 0; n < t.ranks; ++n)
    for (Rank m = 0; m < t.ranks; ++m)
      if (n != m && n / ranks == m / ranks) t.links.push_back({.src = n, .dst = m, .bandwidth = inside});
  t.links.push_back({.src = 0, .dst = ranks, .bandwidth = 1});
  t.links.push_back({.src = ranks, .dst = 0, .bandwidth = 1});
  return t;
}

Claim rounds_of(const Topology& t, const char* collective, int chunks) {
  return fewest_rounds(t, make_collective(collective, t.ranks, chunks));
}

// Each of a box's chunks crosses one link. What crosses in the last round has reached one rank of the other
// box and lacks the others: of C chunks a rank, ranks * C rounds and one more. With one rank there is nothing
// to spread.
TEST(Entries, OneRoundMore) {
  for (int chunks : {1, 2, 5}) {
    EXPECT_EQ(rounds_of(two_boxes(1, 1), "allgather", chunks).rounds, chunks);
    for (int ranks : {2, 3, 4})
      for (const char* collective : {"allgather", "reducescatter"}) {
        const Claim claim = rounds_of(two_boxes(ranks, 9), collective, chunks);
        EXPECT_EQ(claim.rounds, ranks * chunks + 1) << ranks << " " << collective;
        EXPECT_EQ(claim.certificate.kind, Certificate::Kind::Entries);
        EXPECT_EQ(claim.steps, kAnySteps);
      }
  }
}

// A line of four behind the link: an entry t rounds before the end is worth (1 + t) / 4 if it comes in at an
// end, but ranks in the middle have two neighbours: 1/4, 3/4, 1. So 4 C and 1, which 3/4 + 1/4 miss exactly.
TEST(Entries, AsFarAsHopsLead) {
  Topology t{.ranks = 5};
  for (Rank n : {1, 2, 3}) {
    t.links.push_back({.src = n, .dst = n + 1, .bandwidth = 9});
    t.links.push_back({.src = n + 1, .dst = n, .bandwidth = 9});
  }
  for (Rank n : {1, 2, 3, 4}) t.links.push_back({.src = 0, .dst = n, .bandwidth = 1});
  t.limits.push_back({.name = "out", .links = {6, 7, 8, 9}, .bandwidth = 1});
  EXPECT_EQ(rounds_of(t, "broadcast", 7).rounds, 8);
  // Behind a root of two units the same chunks need half the rounds, and a round more.
  t.limits[0].bandwidth = 2;
  EXPECT_EQ(rounds_of(t, "broadcast", 8).rounds, 5);
}

TEST(Entries, OfMachinesOfBoxes) {
  EXPECT_EQ(rounds_of(flatten(load_topology("dgx-a100:4")), "allgather", 8).rounds, 25);
  EXPECT_EQ(rounds_of(flatten(load_topology("dgx-a100:8")), "reducescatter", 8).rounds, 57);
  EXPECT_EQ(rounds_of(load_topology("ring:8"), "allgather", 2).rounds, 7);  // single ranks are tight
}

TEST(Entries, WhatTheCheckerRefuses) {
  const Topology t = two_boxes(3, 9);
  const Collective c = make_collective("allgather", 6, 2);
  const Claim good = fewest_rounds(t, c);
  ASSERT_EQ(good.certificate.kind, Certificate::Kind::Entries);
  EXPECT_FALSE(fault(t, c, good));
  const auto refuses = [&](auto&& spoil) {
    Claim claim = good;
    spoil(claim);
    return fault(t, c, claim).has_value();
  };
  EXPECT_TRUE(refuses([](Claim& x) { ++x.rounds; }));
  EXPECT_TRUE(refuses([](Claim& x) { x.rounds = kNoSchedule; }));
  EXPECT_FALSE(refuses([](Claim& x) { --x.rounds; }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.group.pop_back(); }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.group.assign(6, 0); }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.group.assign(6, 1); }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.group[0] = 2; }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.prices.clear(); }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.prices.push_back(x.certificate.prices[0]); }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.prices[0].links.pop_back(); }));
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.prices[0].links.assign(14, 0); }));
  EXPECT_TRUE(
      refuses([](Claim& x) { x.certificate.prices[0].links[0] = 1; }));  // 7 rounds are paid by two links
  EXPECT_TRUE(refuses([](Claim& x) { x.certificate.prices[0].links[0] = -1; }));
  // Of a group with one rank of the box left out, what enters it costs nothing.
  for (Rank n = 0; n < 6; ++n)
    EXPECT_TRUE(refuses([&](Claim& x) { x.certificate.group[n] = 1 - x.certificate.group[n]; })) << n;
  // Prices may be scaled.
  EXPECT_FALSE(refuses([](Claim& x) {
    for (int& price : x.certificate.prices[0].links) price *= 1000;
  }));
}

}  // namespace
}  // namespace chorale
