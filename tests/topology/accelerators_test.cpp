// Machines of today against what their makers publish, and against the structure that papers define.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "ir/error.h"
#include "topology/builders.h"
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

TEST(Accelerators, RatesAreThoseOfTheirMakers) {
  struct Known {
    const char* spec;
    int ranks;
    double inside, network;
  };
  for (const Known& known :
       {Known{"dgx-h100:2", 16, 450, 50}, Known{"b200:2", 16, 900, 50}, Known{"gb200-nvl72", 72, 900, 0},
        Known{"gb200-nvl72:2", 144, 900, 50}, Known{"p5:2", 16, 450, 50}, Known{"p5en:3", 24, 450, 50},
        Known{"nd-h100-v5:2", 16, 450, 50}, Known{"mi300x:2", 16, 7 * 62.5, 50},
        Known{"mi355x:2", 16, 7 * 75, 50}, Known{"mi300x", 8, 7 * 62.5, 0}, Known{"tpu:4x4x4", 64, 300, 0},
        Known{"trn2", 16, 512, 0}, Known{"trn2:4", 64, 640, 0}}) {
    SCOPED_TRACE(known.spec);
    const Topology t = named_topology(known.spec);
    EXPECT_EQ(t.ranks, known.ranks);
    for (Rank n = 0; n < t.ranks; ++n)
      for (const bool out : {false, true}) {
        EXPECT_NEAR(rate(t, n, false, out), known.inside, 1e-6);
        EXPECT_NEAR(rate(t, n, true, out), known.network, 1e-6);
      }
  }
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
  for (const char* spec :
       {"trn2:5", "trn2:0", "tpu:4x4", "tpu:4x4x8:bent", "tpu:4x4x4:twisted", "tpu:2x2x4:twisted",
        "tpu:1x1x1", "tpu:99999x99999x99999", "dragonfly:4x2", "dragonfly:0x1x1", "dragonfly:64x64x64",
        "b200:", "b200:0", "gb200-nvl72:57", "mi300x:513", "mi300x:2x2"})
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

}  // namespace
}  // namespace chorale
