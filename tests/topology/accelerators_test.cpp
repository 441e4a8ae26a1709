// Machines of today against what their makers publish, and against the structure that papers define.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "ir/error.h"
#include "topology/builders.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

double gbs(const Link& link) {
  return link.bandwidth * 1e-3 / link.beta_us_per_byte;
}

// GB/s out of a rank, and into it: over links whose latency is that of the network, or of others.
double rate(const Topology& t, Rank n, bool network, bool out) {
  double all = 0;
  for (const Link& link : t.links)
    if ((out ? link.src : link.dst) == n && (link.alpha_us > 1) == network) all += gbs(link);
  return all;
}

// Line rates are the makers', within 2 % (chunks per round are integers); what programs reach is below, by
// what topology/hardware/facts.h has of the links.
TEST(Accelerators, RatesAreThoseOfTheirMakers) {
  struct Known {
    const char* spec;
    int ranks;
    double inside, network;            // line rates
    double part = 1, part_of_nic = 1;  // that programs reach
  };
  constexpr double kNic = 0.975, kHopper = 20.6 / 25, kBlackwell = 40.1 / 50, kAmpere = 0.8;
  for (const Known& known :
       {Known{"dgx-h100:2", 16, 450, 50, kHopper, kNic}, Known{"b200:2", 16, 900, 50, kBlackwell, kNic},
        Known{"b300:2", 16, 900, 100, kBlackwell, kNic}, Known{"gb200-nvl72", 72, 900, 0, kBlackwell},
        Known{"gb200-nvl72:2", 144, 900, 50, kBlackwell, kNic}, Known{"p5:2", 16, 450, 50, kHopper, kNic},
        Known{"p5en:3", 24, 450, 50, kHopper, kNic}, Known{"nd-h100-v5:2", 16, 450, 50, kHopper, kNic},
        Known{"nd-a100-v4:2", 16, 300, 25, kAmpere, kNic}, Known{"hgx-2", 16, 150, 0, 0.88},
        Known{"mi300x:2", 16, 7 * 64, 50, 0.75, kNic}, Known{"mi355x:2", 16, 7 * 76.8, 50, 58.5 / 76.8, kNic},
        Known{"mi300x", 8, 7 * 64, 0, 0.75}, Known{"tpu:4x4x4", 64, 300, 0}, Known{"trn2", 16, 512, 0},
        Known{"trn2:4", 64, 640, 0}}) {
    SCOPED_TRACE(known.spec);
    const Topology line = named_topology(known.spec, RateKind::Line), reached = named_topology(known.spec);
    EXPECT_EQ(reached.ranks, known.ranks);
    const auto is = [](double rate, double expected) { EXPECT_NEAR(rate, expected, 0.02 * expected); };
    for (Rank n = 0; n < line.ranks; ++n)
      for (const bool out : {false, true}) {
        is(rate(line, n, false, out), known.inside);
        is(rate(line, n, true, out), known.network);
        is(rate(reached, n, false, out), known.inside * known.part);
        is(rate(reached, n, true, out), known.network * known.part_of_nic);
      }
  }
}

// Nodes of fewer GPUs than the hardware has: a port for each, and unequal nodes on the rails that they have.
TEST(Accelerators, NodesMayHaveFewerGpus) {
  EXPECT_EQ(named_topology("gb200-nvl72:2x4").ranks, 8);
  EXPECT_EQ(named_topology("dgx-h100:2x8").links, named_topology("dgx-h100:2").links);
  EXPECT_EQ(named_topology("dgx-h100:3+3").links, named_topology("dgx-h100:2x3").links);
  for (const char* spec : {"dgx-h100:1x5", "mi300x:1x3", "p4d:2x5", "gb300-nvl72:4+8+2", "hgx-2:3+1"}) {
    SCOPED_TRACE(spec);
    const Topology flat = flatten(named_topology(spec));
    EXPECT_EQ(std::ranges::count(hops(flat, {0}), -1), 0);
  }
  // The fifth to eighth GPU of the larger node are on rails of their own, which lead nowhere: an assumption.
  EXPECT_THAT(assumed_network("gb200-nvl72:8+4+4"),
              testing::HasSubstr("from number 4 on reach larger nodes alone"));
  EXPECT_EQ(assumed_network("gb200-nvl72:4+4"), "");
  EXPECT_EQ(assumed_network("hgx-2:3+1"), "");  // one switch for all
  const Topology uneven = named_topology("dgx-h100:4+8", RateKind::Line);
  EXPECT_EQ(uneven.ranks, 12);
  for (Rank n = 0; n < 12; ++n) EXPECT_NEAR(rate(uneven, n, true, true), 50, 1) << n;
}

// Both ports of a NIC together have its rate, and two machines have one cable.
TEST(Accelerators, ARingOfSparks) {
  for (int n = 2; n <= 8; ++n) {
    const Topology t = named_topology("dgx-spark:" + std::to_string(n), RateKind::Line);
    EXPECT_EQ(std::ssize(t.links), n == 2 ? 2 : 2 * n);
    EXPECT_EQ(std::ssize(t.limits), n == 2 ? 0 : 2 * n);
    for (const SharedLimit& limit : t.limits) EXPECT_EQ(limit.links.size(), 2U);
    for (const Link& link : t.links) EXPECT_NEAR(gbs(link), 25, 0.1);
  }
}

// Eight A100 of p4d have four NICs of 100 Gb/s: two GPUs share one.
TEST(Accelerators, GpusThatShareANicShareItsRate) {
  const Topology flat = flatten(named_topology("p4d:2", RateKind::Line));
  int shared = 0;
  for (const SharedLimit& limit : flat.limits) {
    std::set<Rank> from, to;
    for (const LinkId l : limit.links) {
      from.insert(flat.links[l].src);
      to.insert(flat.links[l].dst);
    }
    const bool between_nodes = std::ranges::any_of(
        limit.links, [&](LinkId l) { return flat.links[l].src / 8 != flat.links[l].dst / 8; });
    if (!between_nodes || (from.size() != 2 && to.size() != 2)) continue;
    EXPECT_NEAR(limit.bandwidth * 1e-3 / flat.links.front().beta_us_per_byte, 12.5, 0.02 * 12.5);
    ++shared;
  }
  EXPECT_EQ(shared, 2 * 8);  // into and out of each of eight NICs
}

// All ranks have the same distances, six neighbours, and a twist makes them shorter.
TEST(Accelerators, ATwistedTorusLooksTheSameFromEveryRankAndIsShorter) {
  for (const char* sides : {"3x3x6", "4x4x8", "3x6x6", "6x3x6"}) {
    SCOPED_TRACE(sides);
    const Topology plain = named_topology(std::string("tpu:") + sides);
    const Topology twisted = named_topology(std::string("tpu:") + sides + ":twisted");
    EXPECT_EQ(twisted.links.size(), plain.links.size());
    std::vector<int> first;
    for (Rank n = 0; n < twisted.ranks; ++n) {
      std::vector<int> far = hops(twisted, {n});
      EXPECT_EQ(std::ranges::count(far, 1), 6);
      std::ranges::sort(far);
      if (n == 0) first = far;
      ASSERT_EQ(far, first) << n;
    }
    std::vector<int> before = hops(plain, {0});
    std::ranges::sort(before);
    EXPECT_LT(first.back(), before.back());
    EXPECT_LT(std::accumulate(first.begin(), first.end(), 0),
              std::accumulate(before.begin(), before.end(), 0));
  }
}

TEST(Accelerators, ADragonflyJoinsEachTwoGroupsOnce) {
  for (const auto& [a, p, h] :
       {std::tuple{4, 2, 2}, std::tuple{1, 1, 1}, std::tuple{3, 1, 2}, std::tuple{2, 3, 1}}) {
    SCOPED_TRACE(a);
    const Topology t =
        named_topology("dragonfly:" + std::to_string(a) + "x" + std::to_string(p) + "x" + std::to_string(h));
    const int groups = a * h + 1;
    EXPECT_EQ(t.ranks, groups * a * p);
    EXPECT_EQ(t.switches, groups * a);
    std::map<std::pair<int, int>, int> between;
    std::map<Node, int> global;
    for (const Link& link : t.links) {
      if (link.src < t.ranks || link.dst < t.ranks) continue;
      const int from = (link.src - t.ranks) / a, to = (link.dst - t.ranks) / a;
      if (from == to) continue;
      ++between[{from, to}];
      ++global[link.src];
    }
    EXPECT_EQ(between.size(), static_cast<std::size_t>(groups) * (groups - 1));
    for (const auto& [pair, links] : between) EXPECT_EQ(links, 1);
    for (const auto& [router, links] : global) EXPECT_EQ(links, h);
  }
}

TEST(Accelerators, SizesThatThereAreNotAreRefused) {
  for (const char* spec : {"trn2:5",
                           "trn2:0",
                           "tpu:4x4",
                           "tpu:4x4x8:bent",
                           "tpu:4x4x4:twisted",
                           "tpu:2x2x4:twisted",
                           "tpu:1x1x1",
                           "tpu:99999x99999x99999",
                           "dragonfly:4x2",
                           "dragonfly:0x1x1",
                           "dragonfly:64x64x64",
                           "b200:",
                           "b200:0",
                           "p4d:0",
                           "hgx-2:257",
                           "gb200-nvl72:57",
                           "mi300x:513",
                           "mi300x:2x9",
                           "dgx-h100:4+9",
                           "dgx-h100:4+",
                           "dgx-h100:0+8",
                           "dgx-h100:x4",
                           "dgx-spark:1",
                           "dgx-spark",
                           "dgx-spark:3x2"})
    EXPECT_THROW(named_topology(spec), InputError) << spec;
}

// Of all that are listed: switches can be removed, and every rank reaches every other.
TEST(Accelerators, AllExamplesCanBeUsed) {
  for (const CatalogueEntry& entry : accelerator_catalogue()) {
    SCOPED_TRACE(entry.example);
    const Topology flat = flatten(named_topology(entry.example));
    EXPECT_EQ(flat.switches, 0);
    EXPECT_EQ(std::ranges::count(hops(flat, {0}), -1), 0);
  }
}

// Of the NVSwitches of Hopper and Blackwell, one per node, and of no other switch; what they deliver is what
// nccl-tests measures of eight ranks, whatever rates are counted. Other machines are refused.
TEST(Accelerators, SwitchesComputeWhereTheHardwareDoes) {
  const Topology two = load_topology("dgx-h100:2");
  ASSERT_EQ(std::ssize(two.abilities), two.switches);
  for (int i = 0; i < two.switches; ++i) EXPECT_EQ(two.abilities[i].any(), i < 2) << i;
  EXPECT_NEAR(two.switch_gain, 478.0 / 370.8, 0.02);
  const Topology lines = load_topology("dgx-h100:1", {.import = {.line_rates = true}});
  EXPECT_NEAR(lines.switch_gain, 478.0 / 450, 0.02);
  EXPECT_GE(load_topology("b200:1", {.import = {.line_rates = true}}).switch_gain, 1);
  EXPECT_EQ(load_topology("dgx-h100:2", {.import = {.in_network = true}}), two);
  Topology plain = named_topology("dgx-h100:2");
  plain.name += " whose switches only forward";
  EXPECT_EQ(plain, load_topology("dgx-h100:2", {.import = {.forward_only = true}}));
  for (const char* name : {"dgx-a100:2", "mi300x", "ring:4", "a100:2", "p4d"}) {
    EXPECT_FALSE(abilities_of(load_topology(name)).any()) << name;
    EXPECT_THROW(load_topology(name, {.import = {.in_network = true}}), InputError) << name;
  }
}

// Levels have the same: in each node a limit on what its switch delivers, and ports that count copies and
// sums once. So have levels that are derived from the graph.
TEST(Accelerators, LevelsHaveWhatTheirSwitchesDeliver) {
  const Topology graph = load_topology("h100:2");
  int units = 0;
  for (const SharedLimit& limit : graph.limits) {
    if (limit.name.starts_with("gpu in-network")) {
      EXPECT_NEAR(limit.bandwidth * 1e-3 / graph.links.front().beta_us_per_byte, 8 * 478, 8 * 478 * 0.02);
      EXPECT_EQ(limit.links.size(), 56);
      ++units;
    }
    EXPECT_EQ(limit.abilities, (Abilities{.multicast = limit.name.starts_with("gpu port out"),
                                          .reduce = limit.name.starts_with("gpu port in")}));
  }
  EXPECT_EQ(units, 2);
  const double gain = load_topology("dgx-h100:2").switch_gain;
  EXPECT_EQ(load_levels("h100:2").hierarchy->levels.back().link.switch_gain, gain);
  EXPECT_EQ(load_levels("dgx-h100:2").hierarchy->levels.back().link.switch_gain, gain);
  for (const char* name : {"h100:2", "dgx-h100:2"}) {
    EXPECT_EQ(load_levels(name, {.import = {.forward_only = true}}).hierarchy->levels.back().link.switch_gain,
              0);
    EXPECT_FALSE(abilities_of(load_topology(name, {.import = {.forward_only = true}})).any());
  }
}

}  // namespace
}  // namespace chorale
