#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

#include "pages/picture.h"
#include "pages/placed.h"
#include "topology/builders.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

Picture picture_of(const Topology& t) {
  DrawingWork work;
  return picture_of(t, work);
}

using Kind = PictureNode::Kind;

Picture drawn(const std::string& spec) {
  return picture_of(flatten(named_topology(spec)));
}

int count(const Picture& p, Kind kind) {
  return static_cast<int>(
      std::ranges::count_if(p.nodes, [&](const PictureNode& n) { return n.kind == kind; }));
}

// No two nodes touch, everything is on the paper, and every link's way leads from its source to its
// destination.
void expect_sound(const Topology& t, const Picture& p) {
  ASSERT_GE(p.nodes.size(), static_cast<std::size_t>(t.ranks)) << t.name;
  for (std::size_t a = 0; a < p.nodes.size(); ++a) {
    const PictureNode& n = p.nodes[a];
    ASSERT_TRUE(std::isfinite(n.at.x) && std::isfinite(n.at.y)) << t.name;
    EXPECT_TRUE(n.at.x - n.width / 2 >= 0 && n.at.x + n.width / 2 <= p.width) << t.name << ": " << n.name;
    EXPECT_TRUE(n.at.y - n.height / 2 >= 0 && n.at.y + n.height / 2 <= p.height) << t.name << ": " << n.name;
    for (std::size_t b = 0; b < a; ++b) {
      const PictureNode& m = p.nodes[b];
      const bool beside = std::abs(n.at.x - m.at.x) >= (n.width + m.width) / 2;
      const bool above = std::abs(n.at.y - m.at.y) >= (n.height + m.height) / 2;
      const bool circles = n.kind == Kind::Rank && m.kind == Kind::Rank && apart(n.at, m.at) >= 0.99;
      EXPECT_TRUE(beside || above || circles) << t.name << ": " << n.name << " on " << m.name;
    }
  }
  ASSERT_EQ(p.routes.size(), t.links.size()) << t.name;
  for (std::size_t l = 0; l < p.routes.size(); ++l) {
    int at = t.links[l].src;
    for (int w : p.routes[l]) {
      const Line& line = p.lines.at(w);
      ASSERT_TRUE(line.a == at || line.b == at) << t.name;
      EXPECT_TRUE(line.a == at ? line.there : line.back) << t.name;
      at = line.a == at ? line.b : line.a;
    }
    EXPECT_EQ(at, t.links[l].dst) << t.name << ", link " << l;
  }
}

// Thirteen ranks, each linked to those one and five further round: 13 is prime, so it is no product.
TEST(Picture, HasCirculantsRound) {
  Topology t{.name = "a file", .ranks = 13};
  for (Rank r = 0; r < 13; ++r)
    for (const int step : {1, 5, 8, 12}) t.links.push_back({.src = r, .dst = (r + step) % 13});
  const Picture p = picture_of(t);
  EXPECT_EQ(p.shape, "circulant of 13, steps 1, 5");
  expect_sound(t, p);
  std::swap(t.links[0].dst, t.links[5].dst);  // 0 -> 6 and 1 -> 1: no longer the same from each rank
  t.links[5].dst = 3;
  EXPECT_NE(picture_of(t).shape, p.shape);
}

// The same machine with its ranks numbered otherwise and its links in another order: a file states no more
// than its links.
Topology shuffled(const Topology& t, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Rank> rank(t.ranks);
  for (Rank r = 0; r < t.ranks; ++r) rank[r] = r;
  std::shuffle(rank.begin(), rank.end(), random);
  Topology other = t;
  other.name = "a file";
  for (Link& l : other.links) {
    l.src = rank[l.src];
    l.dst = rank[l.dst];
  }
  if (other.limits.empty()) std::shuffle(other.links.begin(), other.links.end(), random);
  return other;
}

// What goes by switches and servers has its shape under any numbers. A template goes by the numbers, and what
// is numbered otherwise has that shape or none.
TEST(Picture, SaysWhatEachMachineIs) {
  struct Known {
    std::string spec, shape;
    bool by_numbers = true;
  };
  const std::vector<Known> known = {{"dgx1", "two quads"},
                                    {"dgx2", "16 ranks on one switch", false},
                                    {"amd-z52", "ring of 8"},
                                    {"line:4", "line of 4"},
                                    {"ring:5", "ring of 5"},
                                    {"full:5", "all 5 joined", false},
                                    {"hub:4", "4 ranks on one switch", false},
                                    {"star:9", "", false},
                                    {"hypercube:3", "hypercube of 3 dimensions"},
                                    {"hypercube:4", "hypercube of 4 dimensions"},
                                    {"torus:4x4", "torus 4 x 4"},  // the same graph, numbered otherwise
                                    {"mesh:2x3", "grid 2 x 3"},
                                    {"torus:3x5", "torus 3 x 5"},
                                    {"torus:8x8", "torus 8 x 8"},
                                    {"torus:3x3x3", "torus 3 x 3 x 3"},
                                    {"mi250:1", "4 rows of 4"},
                                    {"tpu:4x4x8:twisted", "", false},
                                    {"dgx-a100:2", "2 nodes of 8", false},
                                    {"dgx-a100:4", "4 nodes of 8 on a network", false}};
  for (const auto& [spec, shape, by_numbers] : known) {
    const Topology t = flatten(named_topology(spec));
    const Picture p = picture_of(t);
    EXPECT_EQ(p.shape, shape) << spec;
    expect_sound(t, p);
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const Topology other = shuffled(t, seed);
      const Picture q = picture_of(other);
      EXPECT_TRUE(q.shape == shape || (by_numbers && q.shape.empty())) << spec << ": " << q.shape;
      expect_sound(other, q);
    }
  }
}

// The dies of a package are beside each other, and the links between packages straight down: 12 is under 4.
TEST(Picture, Mi250IsStraight) {
  const Picture p = drawn("mi250:1");
  const auto below = [&](Rank a, Rank b) {
    EXPECT_NEAR(p.nodes[a].at.x, p.nodes[b].at.x, 1e-9) << a;
    EXPECT_NEAR(p.nodes[b].at.y - p.nodes[a].at.y, p.nodes[1].at.x - p.nodes[0].at.x, 1e-9) << a;
  };
  for (Rank n = 0; n < 4; ++n) {
    below(n, 4 + n);
    below(4 + n, 12 + n);
    below(12 + n, 8 + n);
  }
}

// How much farther the farthest of the neighbours of node 0 is than the nearest.
double unevenness(const Picture& p, int nodes) {
  std::vector<double> away;
  for (int n = 1; n < nodes; ++n) away.push_back(apart(p.nodes[0].at, p.nodes[n].at));
  return std::ranges::max(away) / std::ranges::min(away);
}

// A star has no template: Graphviz puts its hub in the middle. Where there is no Graphviz the hub is on a
// circle with all others, and the nodes are apart all the same.
TEST(Picture, GraphvizLaysOutWhatHasNoTemplate) {
  const Topology t = named_topology("star:9");
  const char* const path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  setenv("PATH", "/nonexistent", 1);
  const Picture without = picture_of(t), again = picture_of(t);
  setenv("PATH", before.c_str(), 1);
  expect_sound(t, without);
  EXPECT_EQ(without.shape, "");
  EXPECT_GT(unevenness(without, 9), 2);
  EXPECT_EQ(without.nodes[3].at.x, again.nodes[3].at.x);
  if (std::system("command -v neato >/dev/null") != 0)
    GTEST_SKIP() << "no Graphviz: only the circle was seen";
  const Picture with = picture_of(t), twice = picture_of(t);
  expect_sound(t, with);
  EXPECT_LT(unevenness(with, 9), 1.5);
  for (Rank r = 0; r < 9; ++r) EXPECT_EQ(with.nodes[r].at.x, twice.nodes[r].at.x) << r;
}

// Neighbours of a torus in row-major order are one column or one row apart, but where they go round.
TEST(Picture, TorusIsAGrid) {
  const Picture p = drawn("torus:4x6");
  const double step = p.nodes[1].at.x - p.nodes[0].at.x;
  ASSERT_GT(step, 0.9);
  for (Rank r = 0; r < 24; ++r) {
    EXPECT_NEAR(p.nodes[r].at.x - p.nodes[0].at.x, step * (r % 6), 1e-6) << r;
    EXPECT_NEAR(p.nodes[r].at.y - p.nodes[0].at.y, step * (r / 6), 1e-6) << r;
  }
  EXPECT_EQ(std::ranges::count_if(p.lines, [](const Line& w) { return w.wraps; }), 4 + 6);
}

TEST(Picture, Dgx1IsTwoQuads) {
  const Picture p = drawn("dgx1");
  // GPUs 0 to 3 are all joined, and so are 4 to 7: one quad is left of the other.
  for (Rank a : {0, 1, 2, 3})
    for (Rank b : {4, 5, 6, 7}) EXPECT_LT(p.nodes[a].at.x, p.nodes[b].at.x);
}

// Routers that all have ranks have no layers. They keep the names that options take.
TEST(Picture, DragonflyHasNoLayers) {
  const Topology t = flatten(named_topology("dragonfly:4x2x2"));
  const Picture p = picture_of(t);
  EXPECT_EQ(p.shape, "");
  expect_sound(t, p);
  std::set<std::string> names;
  for (const PictureNode& node : p.nodes)
    if (node.kind == Kind::Switch) names.insert(node.name);
  ASSERT_EQ(names.size(), 36u);
  for (int router = 0; router < 36; ++router) EXPECT_TRUE(names.contains("switch" + std::to_string(router)));
}

// Round a switch the numbers of 72 ranks were too small: they stand above and below it, in fours.
TEST(Picture, ManyRanksStandInTwoBanks) {
  const Topology t = flatten(named_topology("gb200-nvl72"));
  const Picture p = picture_of(t);
  EXPECT_EQ(p.shape, "72 ranks on one switch");
  expect_sound(t, p);
  EXPECT_LT(p.width, 30);
  for (Rank r = 0; r < 72; ++r) EXPECT_EQ(p.nodes[r].at.y < p.nodes[72].at.y, r < 36) << r;
  for (Rank r = 0; r + 1 < 36; ++r) {
    const double more = p.nodes[r + 1].at.x - p.nodes[r].at.x;
    EXPECT_EQ(more > 0.7, r % 4 == 3) << r;
  }
}

// dgx2 was a hairball of 240 lines: it is 16 lines to a switch, and this many in a file without names.
TEST(Picture, SwitchesAreDrawn) {
  Topology t = named_topology("dgx2");
  for (SharedLimit& limit : t.limits) limit.name = "";
  const Picture p = picture_of(t);
  EXPECT_EQ(count(p, Kind::Switch), 1);
  EXPECT_EQ(p.lines.size(), 16u);
  // A ring whose ranks send and receive one chunk per round has the same limits, and no switch: it does not
  // reach all.
  Topology ring = named_topology("ring:6");
  for (Rank r = 0; r < 6; ++r) {
    SharedLimit out{.name = "port out"}, in{.name = "port in"};
    for (LinkId l = 0; l < 12; ++l) {
      if (ring.links[l].src == r) out.links.push_back(l);
      if (ring.links[l].dst == r) in.links.push_back(l);
    }
    ring.limits.push_back(out);
    ring.limits.push_back(in);
  }
  EXPECT_EQ(picture_of(ring).shape, "ring of 6");
}

TEST(Picture, ServersAreBoxesWithNics) {
  const Topology t = flatten(named_topology("dgx-a100:4"));
  const Picture p = picture_of(t);
  ASSERT_EQ(p.boxes.size(), 4u);
  EXPECT_EQ(count(p, Kind::Switch), 4 + 8);  // an NVSwitch a server, a rail a GPU
  EXPECT_EQ(count(p, Kind::Nic), 32);
  for (Rank r = 0; r < 32; ++r) {
    const Box& box = p.boxes[r / 8];
    const Spot& at = p.nodes[r].at;
    EXPECT_TRUE(at.x > box.left && at.x < box.right && at.y > box.top && at.y < box.bottom) << r;
  }
}

// Two units of two nodes: a NIC of each rank on the leaf of its rail, which is one of eight of its unit;
// routes of a rail go over its leaf alone, and those to the other unit over all that joins the leaves.
TEST(Picture, RailsHaveLeavesAndSpines) {
  const Topology t = flatten(load_topology("rail:2x2"));
  const Picture p = picture_of(t);
  EXPECT_EQ(p.shape, "4 groups of 8 on a network");
  expect_sound(t, p);
  EXPECT_EQ(p.boxes.size(), 4u);
  EXPECT_EQ(count(p, Kind::Switch), 4 + 16 + 1);
  EXPECT_EQ(count(p, Kind::Nic), 32);
  EXPECT_EQ(p.lines.size(), 32u + 32 + 32 + 16);  // to NVSwitches, NICs, leaves, the spines
  EXPECT_EQ(p.routes[find_link(t, 0, 8)].size(), 4u);
  EXPECT_EQ(p.routes[find_link(t, 0, 16)].size(), 6u);
}

// Each two dies of an MI250 node share a NIC, which is a switch of one way out and one in: one square.
TEST(Picture, NicsOfSeveralRanksAreOne) {
  const Topology t = flatten(named_topology("mi250:2"));
  const Picture p = picture_of(t);
  EXPECT_EQ(p.shape, "2 nodes of 16, 1 switch between them");
  expect_sound(t, p);
  EXPECT_EQ(count(p, Kind::Nic), 16);
  EXPECT_EQ(count(p, Kind::Switch), 1);
}

// A trunk has the rate of its cable, and not of the widest link over it: of two switches with four ranks
// each, joined by a cable of three.
TEST(Picture, CablesHaveTheirRates) {
  Topology t{.name = "two switches", .ranks = 8, .switches = 2};
  const auto connect = [&](Node a, Node b, int bandwidth) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
    t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
  };
  for (Rank r = 0; r < 8; ++r) connect(r, 8 + r / 4, 1);
  connect(8, 9, 3);
  const Picture p = picture_of(flatten(t));
  ASSERT_EQ(p.lines.size(), 9u);
  for (const Line& line : p.lines) EXPECT_EQ(line.bandwidth, line.a >= 8 ? 3 : 1);
}

// Four leaves with two ranks each under two spines.
Topology fat_tree() {
  Topology t{.name = "fat tree", .ranks = 8, .switches = 6};
  const auto connect = [&](Node a, Node b) {
    t.links.push_back({.src = a, .dst = b});
    t.links.push_back({.src = b, .dst = a});
  };
  for (Rank r = 0; r < 8; ++r) connect(r, 8 + r / 2);
  for (Node leaf = 8; leaf < 12; ++leaf)
    for (Node spine : {12, 13}) connect(leaf, spine);
  return t;
}

TEST(Picture, FatTreeIsATree) {
  Topology t = flatten(fat_tree());
  for (SharedLimit& limit : t.limits) limit.name = "";  // their cables report what they were
  const Picture p = picture_of(t);
  EXPECT_EQ(p.shape, "switches in 2 layers");
  EXPECT_EQ(count(p, Kind::Switch), 6);
  EXPECT_EQ(p.lines.size(), 8u + 4u * 2u);  // the cables that there were
  std::vector<double> heights;
  for (const PictureNode& n : p.nodes)
    if (n.kind == Kind::Switch) heights.push_back(n.at.y);
  std::ranges::sort(heights);
  EXPECT_LT(heights[1], heights[2]);       // two spines above four leaves
  EXPECT_LT(heights[5], p.nodes[0].at.y);  // above the ranks
  expect_sound(t, p);
}

TEST(Picture, RandomMachinesKeepTheirNodesApart) {
  std::mt19937 random(3);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int run = 0; run < 150; ++run) {
    const int ranks = pick(1, 12), switches = pick(0, 3);
    Topology t{.name = "run " + std::to_string(run), .ranks = ranks, .switches = switches};
    const int nodes = ranks + switches, links = ranks == 1 && switches == 0 ? 0 : pick(0, 3 * ranks);
    for (int i = 0; i < links; ++i) {
      const Node a = pick(0, nodes - 1), b = pick(0, nodes - 1);
      if (a == b) continue;
      t.links.push_back(
          {.src = a, .dst = b, .bandwidth = pick(1, 4), .alpha_us = pick(0, 3) == 0 ? 5.0 : 1.0});
      if (pick(0, 2) > 0) t.links.push_back({.src = b, .dst = a, .bandwidth = pick(1, 4)});
    }
    t = flatten(t);
    for (int i = pick(0, 4); i > 0 && !t.links.empty(); --i) {
      SharedLimit limit{.name = "some"};
      for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l)
        if (pick(0, 2) == 0) limit.links.push_back(l);
      if (!limit.links.empty()) t.limits.push_back(limit);
    }
    expect_sound(t, picture_of(t));
  }
}

TEST(Picture, ManyRanksAreQuick) {
  for (const char* spec :
       {"torus:16x16", "hypercube:7", "hub:64", "full:64", "dgx-a100:8", "line:400", "ring:300"}) {
    const Topology t = flatten(named_topology(spec));
    expect_sound(t, picture_of(t));
  }
}

}  // namespace
}  // namespace chorale
