// Two views of one machine. What they must agree in is how long traffic takes, so that is asked, slowly:
// every flow is sent over the levels by the words of ir/hierarchy.h, and over the links and limits of the
// graph.
#include "topology/levels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "ir/error.h"
#include "topology/builders.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using Shape = LinkModel::Shape;

struct Flow {
  Rank from = 0, to = 0;
  double bytes = 0;
};

// Microseconds until the busiest port, ring link, path and stream is done. Flows are such as have a link.
double over_levels(const Hierarchy& h, const std::vector<Flow>& flows) {
  std::map<std::tuple<int, std::string, int>, std::pair<double, double>> busy;  // bytes, GB/s
  const auto load = [&](int level, const std::string& what, int which, double bytes, double gbs) {
    auto& [sum, rate] = busy[{level, what, which}];
    sum += bytes;
    rate = gbs;
  };
  const int levels = static_cast<int>(h.levels.size());
  std::vector<int> below(levels, 1);
  for (int j = levels - 1; j > 0; --j) below[j - 1] = below[j] * h.levels[j].fan_out;
  for (const Flow& flow : flows) {
    bool parted = false;
    for (int j = 0; j < levels; ++j) {
      const LinkModel& link = h.levels[j].link;
      const int n = h.levels[j].fan_out, a = flow.from / below[j], b = flow.to / below[j];
      const auto ports = [&] {
        load(j, "out", a, flow.bytes, link.bandwidth_gbs * link.ports);
        load(j, "in", b, flow.bytes, link.bandwidth_gbs * link.ports);
      };
      const auto path = [&](int child, const SharedPath& path) {
        return child / n * 1000 + child % n / path.children;
      };
      const auto through = [&](const char* where, int child, const SharedPath& by) {
        load(j, where, path(child, by), flow.bytes, by.bandwidth_gbs);
      };
      // Up from one child, down to another, which may be the first one of the first socket for what is
      // outside.
      const auto sockets = [&](int from, int to) {
        if (from % n / link.host->socket.children == to % n / link.host->socket.children) return;
        through("socket out", from, link.host->socket);
        through("socket in", to, link.host->socket);
      };
      if (parted && link.host) {
        through("host up", a, link.host->uplink);
        sockets(a, a / n * n);
        sockets(b / n * n, b);
        through("host down", b, link.host->uplink);
      } else if (parted && link.exit) {
        load(j, "exit out", path(a, *link.exit), flow.bytes, link.exit->bandwidth_gbs);
        load(j, "exit in", path(b, *link.exit), flow.bytes, link.exit->bandwidth_gbs);
      } else if (parted && link.shape == Shape::Switch) {
        ports();
      } else if (!parted && a != b) {
        if (link.stream_gbs > 0)
          load(j, fmt::format("stream {} {}", flow.from, flow.to), 0, flow.bytes, link.stream_gbs);
        if (link.shape == Shape::Switch)
          ports();
        else if ((a + 1) % n == b % n)
          load(j, "ahead", a, flow.bytes, link.bandwidth_gbs);
        else if ((b + 1) % n == a % n)
          load(j, "back", a, flow.bytes, link.bandwidth_gbs);
        else if (link.host) {
          through("host up", a, link.host->uplink);
          sockets(a, b);
          through("host down", b, link.host->uplink);
        } else
          load(j, "detour", path(a, *link.detour), flow.bytes, link.detour->bandwidth_gbs);
        parted = true;
      }
    }
  }
  double us = 0;
  for (const auto& [what, sums] : busy) us = std::max(us, sums.first / (sums.second * 1e3));
  return us;
}

double over_graph(const Topology& t, const std::vector<Flow>& flows) {
  std::vector<double> load(t.links.size(), 0);
  for (const Flow& flow : flows) load[find_link(t, flow.from, flow.to)] += flow.bytes;
  double us = 0;
  for (std::size_t l = 0; l < load.size(); ++l)
    us = std::max(us, load[l] * t.links[l].beta_us_per_byte / t.links[l].bandwidth);
  for (const SharedLimit& limit : t.limits) {
    double sum = 0;
    for (LinkId l : limit.links) sum += load[l];
    us = std::max(us, sum * round_beta_us_per_byte(t) / limit.bandwidth);
  }
  return us;
}

std::vector<Flow> random_flows(const Topology& t, std::mt19937& random) {
  std::vector<Flow> flows;
  const std::size_t density = 1 + random() % 8;
  for (const Link& link : t.links)
    if (random() % density == 0)
      flows.push_back({link.src, link.dst, 1e6 * static_cast<double>(1 + random() % 9)});
  return flows;
}

void expect_same_times(const Hierarchy& h, const Topology& t, std::mt19937& random, const std::string& what) {
  for (int i = 0; i < 20; ++i) {
    const std::vector<Flow> flows = random_flows(t, random);
    const double us = over_levels(h, flows);
    ASSERT_NEAR(over_graph(t, flows), us, 1e-5 * us) << what << "\n" << to_json(h);
  }
}

// One to three levels of any shape, with every option in and out, and fan-outs of 1.
Hierarchy random_hierarchy(std::mt19937& random) {
  static const std::vector<double> rates = {1, 2, 3, 8, 12.5, 20, 25, 32, 45, 135, 270};
  const auto rate = [&] { return rates[random() % rates.size()]; };
  Hierarchy h{.name = "random"};
  const int levels = 1 + static_cast<int>(random() % 3);
  for (int j = 0; j < levels; ++j) {
    Level level{.name = fmt::format("l{}", j), .fan_out = 1 + static_cast<int>(random() % (j == 2 ? 3 : 5))};
    LinkModel& link = level.link;
    link = {.bandwidth_gbs = rate(), .latency_us = static_cast<double>(random() % 6)};
    if (random() % 3 == 0) link.shape = Shape::Ring;
    if (link.shape == Shape::Switch && random() % 3 == 0) link.ports = 2 + static_cast<int>(random() % 3);
    if (random() % 3 == 0) link.stream_gbs = rate();
    if (random() % 4 == 0) link.rails = true;
    const auto path = [&] { return SharedPath{rate(), 1 + static_cast<int>(random() % 4)}; };
    if (random() % 2 == 0) link.exit = path();
    if (link.shape == Shape::Ring && random() % 2 == 0) link.detour = path();
    if (link.shape == Shape::Ring && random() % 3 == 0) {
      link.exit = link.detour = std::nullopt;
      link.host = HostPath{.uplink = path(), .socket = path()};
      link.host->socket.children *= link.host->uplink.children;
    }
    h.levels.push_back(level);
  }
  return h;
}

TEST(Levels, AGraphTakesAsLongAsItsLevels) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 150; ++trial) {
    const Hierarchy h = random_hierarchy(random);
    const Topology t = graph_of(h);
    ASSERT_EQ(t.ranks, devices(h));
    expect_same_times(h, t, random, fmt::format("trial {}", trial));
  }
}

TEST(Levels, OfAGraphOfLevelsAreThatGraphAgain) {
  std::mt19937 random(2);
  int found = 0, even = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const Hierarchy h = random_hierarchy(random);
    const Topology t = graph_of(h);
    const Levels levels = levels_of(t);
    // Paths that not all children share alike, such as two for three children, are not even; and a level of
    // one child, whose port is behind all others, has no place among levels of several.
    const bool evenly = std::ranges::all_of(h.levels, [&](const Level& l) {
      if (l.fan_out == 1 && &l != h.levels.data()) return false;
      const auto even = [&](const auto& path) {
        return !path || path->children >= l.fan_out || l.fan_out % path->children == 0;
      };
      const auto both = [&](const HostPath& host) {
        return even(std::optional(host.uplink)) && even(std::optional(host.socket));
      };
      return even(l.link.exit) && even(l.link.detour) && (!l.link.host || both(*l.link.host));
    });
    even += evenly;
    if (!levels.hierarchy) {
      EXPECT_FALSE(evenly) << "trial " << trial << ": it " << levels.why_none << "\n" << to_json(h);
      continue;
    }
    ++found;
    EXPECT_EQ(devices(*levels.hierarchy), t.ranks);
    for (const Level& level : levels.hierarchy->levels) EXPECT_TRUE(level.fan_out >= 2 || t.ranks == 1);
    expect_same_times(*levels.hierarchy, t, random, fmt::format("trial {}", trial));
    expect_same_times(*levels.hierarchy, graph_of(*levels.hierarchy), random, fmt::format("trial {}", trial));
  }
  EXPECT_GT(found, 30);
  EXPECT_GE(found, even);
}

// Every machine that has a name, in both views.
TEST(Levels, OfNamedMachines) {
  std::mt19937 random(3);
  std::vector<std::string> without, by_cuts;
  for (const CatalogueEntry& entry : machine_catalogue()) {
    if (entry.example == "pods:4x8x4" || entry.example == "h100:16") continue;  // too large to try slowly
    // What switches do besides forwarding is a number of a level, and no part of the graph.
    const Topology t = flatten(load_topology(entry.example, {.import = {.forward_only = true}}));
    const Levels levels = load_levels(entry.example);
    if (!levels.hierarchy) {
      without.push_back(entry.example);
      EXPECT_THROW(load_hierarchy(entry.example), InputError);
      continue;
    }
    EXPECT_EQ(devices(*levels.hierarchy), t.ranks) << entry.example;
    if (levels.by_cuts) {  // cuts are the graph's (tests/cli/levels.py), flows between them need not be
      by_cuts.push_back(entry.example);
      EXPECT_FALSE(levels_of(t).hierarchy.has_value()) << entry.example;
      continue;
    }
    expect_same_times(*levels.hierarchy, t, random, entry.example);
    const Levels again = levels_of(t);
    ASSERT_TRUE(again.hierarchy.has_value()) << entry.example << ": " << again.why_none;
    expect_same_times(*again.hierarchy, t, random, entry.example);
  }
  // Of the others than grids: dies or GPUs are linked unevenly, or groups of routers.
  EXPECT_EQ(without, (std::vector<std::string>{"dgx1", "line:4", "star:5", "mesh:4x4", "dgx-spark:4",
                                               "tpu:4x4x8:twisted", "dragonfly:4x2x2", "ndv2", "p3dn",
                                               "mi50-rome", "mi100", "dgx1:2", "mi250:1"}));
  // A NIC of a GPU reaches GPUs of all rails, several GPUs share a NIC, or there are several
  // routes between two hosts.
  EXPECT_EQ(by_cuts,
            (std::vector<std::string>{"p5:2", "p5en:2", "nd-h100-v5:2", "nd-a100-v4:2", "p4d:2", "hgx-2:2",
                                      "nc-a100-v4", "dgx2:2", "fat-tree:4", "leaf-spine:4x4x2"}));
}

struct Known {
  int fan_out = 1;
  Shape shape = Shape::Switch;
  double gbs = 0;  // of all ports of a child, or of a ring link
  double latency_us = 0;
};

// What the builders and catalogues say: NVLinks and NICs of 25 GB/s, twelve NVLinks of a DGX A100's GPU (line
// rates).
TEST(Levels, HaveTheNumbersOfTheGraph) {
  const std::map<std::string, std::vector<Known>> known = {
      {"ring:8", {{8, Shape::Ring, 25, 0.7}}},
      {"amd-z52", {{8, Shape::Ring, 25, 0.7}}},
      {"hub:6", {{6, Shape::Switch, 25, 0.7}}},
      {"dgx2", {{16, Shape::Switch, 25, 0.7}}},
      {"full:8", {{8, Shape::Switch, 7 * 25, 0.7}}},
      {"dgx-a100:1", {{8, Shape::Switch, 12 * 25, 0.8}}},
      {"dgx-a100:4", {{4, Shape::Switch, 8 * 25, 5}, {8, Shape::Switch, 12 * 25, 0.8}}},
      {"torus:4x5", {{4, Shape::Ring, 5 * 25, 0.7}, {5, Shape::Ring, 25, 0.7}}},
      {"hypercube:3",
       {{2, Shape::Switch, 4 * 25, 0.7}, {2, Shape::Switch, 2 * 25, 0.7}, {2, Shape::Switch, 25, 0.7}}},
  };
  for (const auto& [name, expected] : known) {
    const Hierarchy h = load_hierarchy(name, {.import = {.line_rates = name.starts_with("dgx-a100")}});
    ASSERT_EQ(h.levels.size(), expected.size()) << name;
    for (std::size_t j = 0; j < expected.size(); ++j) {
      const LinkModel& link = h.levels[j].link;
      EXPECT_EQ(h.levels[j].fan_out, expected[j].fan_out) << name;
      EXPECT_EQ(link.shape, expected[j].shape) << name;
      EXPECT_NEAR(link.bandwidth_gbs * link.ports, expected[j].gbs, 1e-6) << name << " " << j;
      EXPECT_EQ(link.latency_us, expected[j].latency_us) << name;
    }
  }
  // And in the other direction: a100:4's rates of 8 and 270 GB/s have a unit of 2.
  const Topology a100 = load_topology("a100:4");
  EXPECT_DOUBLE_EQ(1e-3 / round_beta_us_per_byte(a100), 2);
  EXPECT_EQ(a100.links[find_link(a100, 0, 15)].bandwidth, 135);
  EXPECT_EQ(a100.links[find_link(a100, 0, 16)].bandwidth, 4);
  EXPECT_EQ(a100.links[find_link(a100, 0, 16)].alpha_us, 5);
  EXPECT_EQ(load_topology("a100:1").links[0].bandwidth,
            1);  // one node: nothing but the switch, which is the unit
}

// All pairs of 360 ranks are linked, so each of the many ways to divide them is as good as the next, and one
// limit spoils all.
TEST(LevelsLong, WhatCouldTakeHoursIsGivenUp) {
  Topology t = named_topology("full:360");
  t.limits.push_back({.name = "odd", .links = {0, 1}, .bandwidth = 1});
  EXPECT_EQ(levels_of(t).why_none, "has no division that was found in a moment");
}

TEST(Levels, WhatHasNoneSaysWhy) {
  EXPECT_EQ(load_levels("line:4").why_none, "has 1 link out of rank 0, 2 out of rank 1");
  EXPECT_EQ(load_levels("dgx1").why_none,
            "is not 8 ranks divided into equal groups of equal groups: its links and limits differ");
}

TEST(Levels, WhatIsTooLargeOrHasNoUnitIsRefused) {
  EXPECT_THROW(load_topology("a100:512"), InputError);  // 8192 devices
  EXPECT_THROW(load_topology("a100:64"), InputError);   // 1024 devices: over a million links
  Hierarchy h = named_hierarchy("a100:2");
  h.levels[0].link.bandwidth_gbs = 1e-6;
  EXPECT_THROW(graph_of(h), InputError);
}

}  // namespace
}  // namespace chorale
