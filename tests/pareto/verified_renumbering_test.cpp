// Machines with their ranks, links and limits numbered again by chance are one machine by their canonical
// numbers, and what was found on the one is true on the other. Judged by the check, which knows nothing of
// numberings.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "graph/automorphisms.h"
#include "ir/error.h"
#include "ir/json.h"
#include "pareto/check.h"
#include "pareto/formulas.h"
#include "pareto/search.h"
#include "tests/kit/random.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using Dice = std::mt19937;

// One-way links and parallel ones, of few kinds so that there are symmetries, under limits that share links
// and may compute.
Topology random_machine(Dice& dice) {
  Topology t = test::random_machine(dice, {.least_ranks = 3, .most_ranks = 5, .most_links = 12, .widest = 2});
  for (Link& link : t.links) link.alpha_us = 1 + test::below(dice, 2);
  for (SharedLimit& limit : t.limits)
    limit.abilities = {.multicast = test::below(dice, 4) == 0, .reduce = test::below(dice, 4) == 0};
  return t;
}

std::vector<int> shuffled(int count, Dice& dice) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), 0);
  std::ranges::shuffle(result, dice);
  return result;
}

Renumbering by_chance(const Topology& t, Dice& dice) {
  return {.ranks = shuffled(t.ranks, dice), .links = shuffled(static_cast<int>(t.links.size()), dice)};
}

std::vector<int> colours(const Collective& collective) {
  std::vector<int> result(collective.ranks, 0);
  if (is_rooted(collective.kind)) result[collective.root] = 1;
  return result;
}

Renumbering own_numbers(const Topology& topology, const Collective& collective) {
  return canonical_numbering(topology, colours(collective));
}

// As a library compares machines.
std::string text(Topology topology) {
  topology.name = "";
  for (SharedLimit& limit : topology.limits) limit.name = "";
  return to_json(topology);
}

TEST(CanonicalNumbering, IsTheSameHoweverRanksAreNumbered) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const Topology one = random_machine(dice);
    const Renumbering by = by_chance(one, dice);
    Topology other = renumbered(one, by);
    std::ranges::shuffle(other.limits, dice);
    const CollectiveKind kind = seed % 2 == 0 ? CollectiveKind::Broadcast : CollectiveKind::Allgather;
    const Collective asked = make_collective(kind, one.ranks, 1, kind == CollectiveKind::Broadcast ? 1 : 0),
                     there = renumbered(asked, by);
    const Renumbering a = own_numbers(one, asked), b = own_numbers(other, there);
    EXPECT_EQ(text(renumbered(one, a)), text(renumbered(other, b))) << "seed " << seed;
    EXPECT_EQ(renumbered(asked, a), renumbered(there, b)) << "seed " << seed;
  }
}

// Equal texts are equal machines: a change of one number is another text.
TEST(CanonicalNumbering, TellsMachinesApart) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    const Topology one = random_machine(dice);
    Topology other = renumbered(one, by_chance(one, dice));
    other.links[dice() % other.links.size()].bandwidth += 7;
    const Collective asked = make_collective(CollectiveKind::Allgather, one.ranks, 1);
    EXPECT_NE(text(renumbered(one, own_numbers(one, asked))),
              text(renumbered(other, own_numbers(other, asked))));
  }
}

TEST(CanonicalNumbering, OfMachinesWithSwitches) {
  for (const char* name : {"dgx1", "dgx-a100:2", "hub:5", "torus:3x4"}) {
    Dice dice(7);
    const Topology one = flatten(named_topology(name));
    const Topology other = renumbered(one, by_chance(one, dice));
    const Collective asked = make_collective(CollectiveKind::AllReduce, one.ranks, 1);
    EXPECT_EQ(text(renumbered(one, own_numbers(one, asked))),
              text(renumbered(other, own_numbers(other, asked))))
        << name;
  }
}

TEST(Renumbering, IsUndoneByItsInverse) {
  Dice dice(3);
  const Topology one = random_machine(dice);
  const Renumbering by = by_chance(one, dice);
  EXPECT_EQ(compose(by, inverse(by)), no_renumbering(one));
  EXPECT_EQ(renumbering_from_json(to_json(by), "a test"), by);
  for (const char* wrong : {R"({"ranks": [0, 0], "links": []})", R"({"ranks": [0, 2], "links": []})", "{}"})
    EXPECT_THROW(renumbering_from_json(wrong, "a test"), InputError);
}

// Points, bounds and refutations: all that there is, of every kind.
TEST(VerifiedRenumberingLong, WhatHoldsOfTheOneHoldsOfTheOther) {
  int refutations = 0, bounds = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Dice dice(seed);
    const Topology one = random_machine(dice);
    const std::string name = collective_names()[seed % collective_names().size()];
    const Collective asked = make_collective(name, one.ranks, 1, is_rooted(known_kind(name)) ? 1 : 0);
    const Result found =
        search_frontier(one, asked, {.max_chunks = 2, .synthesis = {.limits = {.conflicts = 300}}});
    const Renumbering by = by_chance(one, dice);
    Topology other = renumbered(one, by);
    std::ranges::shuffle(other.limits, dice);
    const Result there = verified_renumbering(found, by, other, "a test");
    ASSERT_EQ(there.points.size(), found.points.size());
    const CheckReport report = check_result(there, "", {.conflicts = 3000});
    EXPECT_TRUE(report.faults.empty()) << "seed " << seed << ", " << name << ": " << report.faults[0].words;
    refutations += report.refutations;
    bounds += report.bounds;
    EXPECT_EQ(verified_renumbering(there, inverse(by), one, "a test"), found)
        << "seed " << seed << ", " << name;
  }
  EXPECT_GT(refutations, 3);
  EXPECT_GT(bounds, 60);
}

TEST(VerifiedRenumbering, RefusesWhatIsOfAnotherMachine) {
  const Topology ring = named_topology("ring:4");
  const Result found = search_frontier(ring, make_collective("allgather", 4, 1), {});
  const Renumbering none = no_renumbering(ring);
  EXPECT_NO_THROW(verified_renumbering(found, none, ring, "a test"));
  Renumbering shorter = none;
  shorter.links.pop_back();
  EXPECT_THROW(verified_renumbering(found, shorter, ring, "a test"), InputError);
  EXPECT_THROW(verified_renumbering(found, none, named_topology("line:4"), "a test"), InputError);
  Topology wider = ring;
  wider.links[3].bandwidth = 2;
  EXPECT_THROW(verified_renumbering(found, none, wider, "a test"), InputError);
  Result wrong = found;
  wrong.points[0].schedule.steps[0].sends.pop_back();
  EXPECT_THROW(verified_renumbering(wrong, none, ring, "a test"), InputError);
  wrong = found;
  wrong.points[0].schedule.steps[0].sends[0].link = 1000;
  EXPECT_THROW(verified_renumbering(wrong, none, ring, "a test"), InputError);
}

}  // namespace
}  // namespace chorale
