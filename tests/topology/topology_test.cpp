#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <sstream>

#include "ir/error.h"
#include "ir/json.h"
#include "topology/machines.h"
#include "topology/switches.h"
#include "topology/text.h"

namespace chorale {
namespace {

std::map<std::pair<int, int>, int> bandwidths(const Topology& t) {
  std::map<std::pair<int, int>, int> result;
  for (const Link& l : t.links) result[{l.src, l.dst}] += l.bandwidth;
  return result;
}

// Cai et al. 2021: ring 0-1-4-5-6-7-2-3 with two NVLinks an edge, ring 0-2-1-3-6-4-7-5 with one.
TEST(Builders, Dgx1IsTheOneOfSccl) {
  std::map<std::pair<int, int>, int> expected;
  const auto ring = [&](const std::vector<int>& order, int bandwidth) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int a = order[i], b = order[(i + 1) % order.size()];
      expected[{a, b}] += bandwidth;
      expected[{b, a}] += bandwidth;
    }
  };
  ring({0, 1, 4, 5, 6, 7, 2, 3}, 2);
  ring({0, 2, 1, 3, 6, 4, 7, 5}, 1);
  EXPECT_EQ(bandwidths(named_topology("dgx1")), expected);
}

struct Built {
  const char* name;
  int ranks;
  std::size_t links;  // of the machine without switches
};

TEST(Builders, HaveTheirRanksAndLinks) {
  for (const Built& shape :
       {Built{"dgx2", 16, 240}, Built{"amd-z52", 8, 16}, Built{"line:4", 4, 6}, Built{"ring:5", 5, 10},
        Built{"ring:2", 2, 2}, Built{"full:8", 8, 56}, Built{"star:5", 5, 8}, Built{"hypercube:3", 8, 24},
        Built{"mesh:2x3", 6, 14}, Built{"torus:4x4", 16, 64}, Built{"torus:3x3x3", 27, 162},
        Built{"hub:6", 6, 30}}) {
    const Topology t = flatten(named_topology(shape.name));
    EXPECT_EQ(t.ranks, shape.ranks) << shape.name;
    EXPECT_EQ(t.links.size(), shape.links) << shape.name;
    EXPECT_EQ(t.switches, 0);
    const std::vector<int> distance = hops(t, {0});
    EXPECT_EQ(std::count(distance.begin(), distance.end(), -1), 0) << shape.name;
  }
}

TEST(Builders, EveryRankOfAHubHasAPortInAndOneOut) {
  const Topology t = named_topology("hub:6");
  std::vector<int> limits(t.links.size(), 0);
  for (const SharedLimit& limit : t.limits) {
    EXPECT_EQ(limit.bandwidth, 1);
    EXPECT_EQ(limit.links.size(), 5u);
    for (LinkId l : limit.links) ++limits[l];
  }
  EXPECT_EQ(limits, std::vector<int>(t.links.size(), 2));
}

TEST(Builders, RefuseWhatIsNoMachine) {
  std::istringstream specs(
      "dgx3 ring ring: ring:x ring:-3 ring:0 ring:99999999999999999999 ring:4x4 torus:4 torus:4x "
      "torus:0x4 mesh:3x3x3x3 hypercube:40 dgx1:1 dgx-a100:0 full:1000000 fat-tree:3 leaf-spine:4x4 "
      "leaf-spine:100000x100000x1 mi250:0 dgx-h100:");
  for (std::string spec; specs >> spec;) EXPECT_THROW(named_topology(spec), InputError) << spec;
  EXPECT_THROW(named_topology(""), InputError);
  EXPECT_THROW(load_topology("/no/such/machine.json"), InputError);
}

// Two ranks a switch, the switches joined by one link.
Topology two_switches() {
  Topology t{.name = "two", .ranks = 4, .switches = 2};
  const auto both = [&](Node a, Node b, int bandwidth) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth, .alpha_us = 1, .beta_us_per_byte = 1e-5});
    t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth, .alpha_us = 1, .beta_us_per_byte = 1e-5});
  };
  for (Rank r = 0; r < 4; ++r) both(r, 4 + r / 2, 2);
  both(4, 5, 3);
  return t;
}

TEST(Flatten, MakesRoutesLinksAndSharedWiresLimits) {
  const Topology flat = flatten(two_switches());
  EXPECT_EQ(flat.ranks, 4);
  EXPECT_EQ(flat.switches, 0);
  EXPECT_EQ(flat.links.size(), 12u);  // all pairs
  const LinkId near = find_link(flat, 0, 1), far = find_link(flat, 0, 2);
  EXPECT_EQ(flat.links[near].bandwidth, 2);
  EXPECT_EQ(flat.links[far].bandwidth, 2);
  EXPECT_DOUBLE_EQ(flat.links[near].alpha_us, 2);
  EXPECT_DOUBLE_EQ(flat.links[far].alpha_us, 3);
  // Over the wire between the switches: four routes, three chunks per round.
  bool found = false;
  for (const SharedLimit& limit : flat.limits)
    found = found || (limit.bandwidth == 3 && limit.links.size() == 4 &&
                      std::count(limit.links.begin(), limit.links.end(), far) == 1);
  EXPECT_TRUE(found);
}

TEST(Flatten, RefusesALimitThatARouteUsesTwice) {
  Topology t = two_switches();
  t.limits = {{.name = "backplane", .links = {0, 3}, .bandwidth = 2}};  // rank 0 in, rank 1 out
  EXPECT_THROW(flatten(t), InputError);
  t.limits = {{.name = "ports in", .links = {0, 2}, .bandwidth = 2}};
  EXPECT_NO_THROW(flatten(t));
}

// Each link may take as long as files allow; of their sum a result was written that no command read.
TEST(Flatten, RefusesARouteThatNoFileCouldHave) {
  Topology t = two_switches();
  t.links[0].alpha_us = 1e9 - 1;
  EXPECT_THROW(flatten(t), InputError);
  t.links[0].alpha_us = 1e9 - 2;
  EXPECT_EQ(topology_from_json(to_json(flatten(t)), "flat").links, flatten(t).links);
}

TEST(Flatten, LeavesAMachineWithoutSwitches) {
  EXPECT_EQ(flatten(named_topology("dgx1")), named_topology("dgx1"));
}

TEST(Text, DescribesWhatIsThere) {
  const ReportTable nodes = report_of(named_topology("dgx1")).tables.front();
  EXPECT_THAT(nodes.title, testing::HasSubstr("8 ranks, 0 switches, 32 links, 0 shared limits"));
  EXPECT_EQ(nodes.rows.size(), 9u);
  EXPECT_EQ(nodes.rows[1], (std::vector<std::string>{"0", "6", "6", "1(x2) 3(x2) 2 5"}));
}

// Sums of the widest links are beyond an int.
TEST(Topology, DescriptionsAddUpTheWidestLinks) {
  Topology t{.name = "wide", .ranks = 2};
  t.links.assign(2500, {.src = 0, .dst = 1, .bandwidth = 1'000'000});
  const ReportTable nodes = report_of(t).tables.front();
  EXPECT_EQ(nodes.rows[1][1] + " out, " + nodes.rows[1][2] + " in", "2500000000 out, 0 in");
}

// The diameter by distances from each rank, one after the other; of more than 64 ranks, too.
TEST(Text, DiametersAreTheMostHopsBetweenRanks) {
  std::mt19937 random(5);
  int connected = 0, apart = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Topology machine{.ranks = 1 + static_cast<int>(random() % (trial % 4 == 0 ? 150 : 9)),
                     .switches = static_cast<int>(random() % 3)};
    const int nodes = machine.ranks + machine.switches;
    const int links = static_cast<int>(random() % (3 * nodes + 1)) + (trial % 2) * 4 * nodes;
    for (int l = 0; l < links; ++l) {
      const Node src = static_cast<int>(random() % nodes), dst = static_cast<int>(random() % nodes);
      if (src != dst) machine.links.push_back({.src = src, .dst = dst});
    }
    int most = 0;
    bool all = true;
    for (Rank n = 0; n < machine.ranks; ++n) {
      const std::vector<int> far = hops(machine, {n});
      for (Rank m = 0; m < machine.ranks; ++m) {
        most = std::max(most, far[m]);
        all = all && far[m] >= 0;
      }
    }
    ++(all ? connected : apart);
    EXPECT_THAT(report_of(machine).tables.front().title,
                testing::HasSubstr(all ? fmt::format("; diameter {} hop", most) : "; NOT connected"));
  }
  EXPECT_GT(connected, 30);
  EXPECT_GT(apart, 30);
}

TEST(Dot, NamesEveryRankAndEscapes) {
  Topology t = named_topology("dgx1");
  t.name = "a \"quoted\" name";
  const std::string dot = to_dot(t);
  EXPECT_EQ(dot.rfind("digraph", 0), 0u);
  EXPECT_NE(dot.find("a \\\"quoted\\\" name"), std::string::npos);
  for (Rank r = 0; r < 8; ++r) EXPECT_NE(dot.find(fmt::format("\"{}\" ->", r)), std::string::npos) << r;
}

}  // namespace
}  // namespace chorale
