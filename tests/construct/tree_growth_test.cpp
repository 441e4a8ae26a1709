// What grows is refereed at its door (construct/incumbents.h); here: that it is as good as cuts allow.
#include "construct/tree_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>

#include "construct/incumbents.h"
#include "semantics/verify.h"
#include "tests/semantics/machines.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;

int below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

// A ring, so that each reaches each, one-way now and then, and links anywhere; every other machine has ports.
Topology random_machine(std::mt19937& random, bool ports) {
  Topology t{.name = "random", .ranks = 2 + below(random, 8)};
  const auto link = [&](Rank a, Rank b) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = 1 + below(random, 3)});
  };
  for (Rank n = 0; n < t.ranks; ++n) {
    link(n, (n + 1) % t.ranks);
    if (below(random, 3) > 0) link((n + 1) % t.ranks, n);
  }
  for (int more = below(random, 2 * t.ranks); more > 0; --more) {
    const Rank a = below(random, t.ranks), b = below(random, t.ranks);
    if (a != b) link(a, b);
  }
  for (Rank n = 0; ports && n < t.ranks; ++n) {
    SharedLimit out{.name = "out", .bandwidth = 1 + below(random, 3)};
    SharedLimit in{.name = "in", .bandwidth = 1 + below(random, 3)};
    for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l) {
      if (t.links[l].src == n && below(random, 4) > 0) out.links.push_back(l);
      if (t.links[l].dst == n && below(random, 4) > 0) in.links.push_back(l);
    }
    if (!out.links.empty()) t.limits.push_back(out);
    if (!in.links.empty()) t.limits.push_back(in);
  }
  return t;
}

// Slow and obvious: what enters a set of ranks in a round, each limit counted once if it is less than its links.
int enters(const Topology& t, unsigned inside) {
  const auto crosses = [&](LinkId l) {
    return (inside >> t.links[l].dst & 1) && !(inside >> t.links[l].src & 1);
  };
  // With ports at both ends the least is a choice for each link; trying all choices of limits that count is enough.
  int least = 1 << 30;
  const std::size_t limits = t.limits.size();
  std::vector<unsigned> used;
  for (std::size_t z = 0; z < limits; ++z)
    if (std::ranges::any_of(t.limits[z].links, crosses)) used.push_back(static_cast<unsigned>(z));
  for (unsigned chosen = 0; chosen < 1U << used.size(); ++chosen) {
    int sum = 0;
    std::vector<bool> paid(t.links.size(), false);
    for (std::size_t k = 0; k < used.size(); ++k)
      if (chosen >> k & 1) {
        sum += t.limits[used[k]].bandwidth;
        for (LinkId l : t.limits[used[k]].links) paid[l] = true;
      }
    for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l)
      if (crosses(l) && !paid[l]) sum += t.links[l].bandwidth;
    least = std::min(least, sum);
  }
  return least;
}

// The most rounds that any set of ranks needs to get what it lacks. Of a set of k ranks, x chunks may come in during the last
// step only, all of them k times; so all the rest comes in before it: lacks <= wide * (rounds - 1) + wide / k.
int bound_by_all_cuts(const Topology& t, const Collective& c) {
  int most = 0;
  for (unsigned inside = 1; inside + 1 < 1U << t.ranks; ++inside) {
    int lacks = 0;
    for (const ChunkSpec& spec : c.chunks)
      lacks += std::ranges::none_of(spec.pre, [&](Rank n) { return inside >> n & 1; });
    if (lacks == 0) continue;
    const int wide = enters(t, inside), k = std::popcount(inside);
    most = std::max(most, (lacks * k + wide * (k - 1) + wide * k - 1) / (wide * k));
  }
  return most;
}

// On direct links mostly at the bound.
TEST(TreeGrowth, AtTheBoundOfAllCutsOfRandomMachines) {
  int exact = 0, grown = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = random_machine(random, false);
    const Collective c = make_collective("allgather", t.ranks, 1 + below(random, 3));
    const std::vector<Schedule> schedules = grow_trees(t, c);
    ASSERT_FALSE(schedules.empty());
    const int bound = bound_by_all_cuts(t, c);
    for (const Schedule& schedule : schedules) {
      EXPECT_THAT(violations(t, c, schedule), IsEmpty());
      EXPECT_GE(total_rounds(schedule), bound);
    }
    ++grown;
    exact += total_rounds(schedules.back()) == bound;
    EXPECT_LE(total_rounds(schedules.back()), 2 * bound);
  }
  EXPECT_GT(exact, grown * 3 / 4) << exact << " of " << grown;
}

TEST(TreeGrowth, NoScheduleUnderTheBoundWithPorts) {
  int exact = 0, grown = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Topology t = random_machine(random, true);
    if (t.ranks > 5) continue;  // all choices of limits are looked at
    const Collective c = make_collective("allgather", t.ranks, 1 + below(random, 3));
    const int bound = bound_by_all_cuts(t, c);
    for (const Schedule& schedule : grow_trees(t, c)) {
      EXPECT_THAT(violations(t, c, schedule), IsEmpty());
      EXPECT_GE(total_rounds(schedule), bound);
      ++grown;
      exact += total_rounds(schedule) == bound;
    }
  }
  EXPECT_GT(exact, 10) << grown;
}

struct Known {
  std::string machine = {};
  std::string collective = {};
  int chunks = 1;
  int steps = 0;   // of the point with the fewest rounds
  int rounds = 0;  // the bound
};

// Rounds are what a rank lacks over what comes in (63 chunks over 2 links in a corner of mesh:8x8), or for a node of an
// A100 what the node lacks over its 8 NICs, and one more where the last round can bring nothing new to a whole node.
TEST(TreeGrowth, NamedMachines) {
  const std::vector<Known> known = {
      {"ring:8", "allgather", 2, 4, 7},      {"ring:8", "reducescatter", 2, 4, 7},
      {"torus:4x4", "allgather", 4, 4, 15},  {"hypercube:4", "allgather", 4, 4, 15},
      {"mesh:4x4", "allgather", 2, 6, 15},   {"mesh:4x4", "reducescatter", 2, 6, 15},
      {"mesh:8x8", "allgather", 2, 14, 63},  {"dgx1", "allgather", 6, 3, 7},
      {"dgx2", "allgather", 1, 1, 15},       {"dgx-a100:2", "allgather", 13, 4, 15},
      {"dgx-a100:4", "allgather", 8, 6, 25}, {"line:8", "allgather", 1, 7, 7},
      {"torus:8x8", "allgather", 4, 8, 63},  {"hypercube:6", "allgather", 6, 6, 63},
      {"dgx1", "reducescatter", 6, 3, 7},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(k.machine + " " + k.collective);
    const Topology t = load_topology(k.machine);
    const std::vector<Point> points = grown_incumbents(t, make_collective(k.collective, t.ranks, k.chunks));
    ASSERT_FALSE(points.empty());
    EXPECT_EQ(points.back().cost.rounds, k.rounds);
    EXPECT_LE(points.back().cost.steps, k.steps);
  }
}

// Hosts below leaf switches, one unit each, and a trunk of two units from each leaf to the others: a host lacks 15 chunks and
// takes one in a round. With a trunk of one unit, a leaf lacks 12 and takes one; of eight leaves of two, each lacks 14.
Topology fat_tree(int leaves, int hosts, int trunk) {
  Topology t{.name = "fat tree", .ranks = leaves * hosts, .switches = leaves + 1};
  const auto both = [&](Node a, Node b, int bandwidth) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
    t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
  };
  for (Rank n = 0; n < t.ranks; ++n) both(n, t.ranks + n / hosts, 1);
  for (int leaf = 0; leaf < leaves; ++leaf) both(t.ranks + leaf, t.ranks + leaves, trunk);
  return flatten(t);
}

TEST(TreeGrowth, TrunksBetweenSwitches) {
  for (const auto& [leaves, hosts, trunk] :
       {std::array{4, 4, 2}, std::array{8, 2, 1}, std::array{4, 4, 1}, std::array{2, 3, 1}}) {
    SCOPED_TRACE(leaves * 100 + hosts * 10 + trunk);
    const Topology t = fat_tree(leaves, hosts, trunk);
    const int host = t.ranks - 1, leaf = (t.ranks - hosts + trunk - 1) / trunk;
    const std::vector<Point> points = grown_incumbents(t, make_collective("allgather", t.ranks, 1));
    ASSERT_FALSE(points.empty());
    EXPECT_GE(points.back().cost.rounds, std::max(host, leaf));
    EXPECT_LE(points.back().cost.rounds, std::max(host, leaf + 1));
    EXPECT_LE(points.back().cost.steps, 8);
  }
}

// Several ranks may start with a chunk; the root of a Broadcast sends over all its links.
TEST(TreeGrowth, Broadcasts) {
  const Topology t = load_topology("dgx1");  // six units leave each rank
  const std::vector<Schedule> schedules = grow_trees(t, make_collective("broadcast", 8, 12));
  ASSERT_FALSE(schedules.empty());
  EXPECT_LE(total_rounds(schedules.back()), 5);  // twice what leaves the root, and one
}

TEST(TreeGrowth, NoneOfWhatItIsNotFor) {
  const Topology t = test::ring(4);
  EXPECT_THAT(grow_trees(t, make_collective("alltoall", 4, 1)), IsEmpty());
  EXPECT_THAT(grow_trees(t, make_collective("scatter", 4, 1)), IsEmpty());
  EXPECT_THAT(grow_trees({.name = "apart", .ranks = 2}, make_collective("allgather", 2, 1)), IsEmpty());
  const std::atomic<bool> stop = true;
  EXPECT_THAT(grow_trees(t, make_collective("allgather", 4, 1), &stop), IsEmpty());
}

}  // namespace
}  // namespace chorale
