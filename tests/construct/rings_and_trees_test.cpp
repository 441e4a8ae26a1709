// The shapes that the algorithms run on, and the ring's properties.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>
#include <vector>

#include "construct/baselines/classic.h"
#include "construct/baselines/ring_packing.h"
#include "construct/baselines/rings.h"
#include "tests/semantics/machines.h"
#include "topology/import/import.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

std::vector<Rank> identity(int ranks) {
  std::vector<Rank> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The two properties that Sanders, Speck and Traeff ask for: disjoint inner ranks, logarithmic height. A tree
// of height h has at least h inner ranks below one another, and a balanced one over m = floor(n/2) inner
// ranks has 1 + floor(log2(m)) levels of them.
TEST(TwoTrees, EachRankIsInnerInAtMostOne) {
  for (int ranks = 1; ranks <= 130; ++ranks) {
    const auto [first, second] = two_trees(identity(ranks));
    const int most = ranks == 1 ? 0 : 1 + static_cast<int>(std::floor(std::log2(ranks / 2)));
    for (const Tree& tree : {first, second}) {
      EXPECT_EQ(std::ranges::count(tree.parent, -1), 1) << ranks;
      EXPECT_LE(tree.height(), most) << ranks;
      for (Rank n = 0; n < ranks; ++n) EXPECT_LE(std::ranges::count(tree.parent, n), 2) << "binary";
    }
    for (Rank n = 0; n < ranks; ++n)
      EXPECT_FALSE(first.is_inner(n) && second.is_inner(n)) << n << " of " << ranks;
  }
}

TEST(HeapTree, HasTheHeightOfAHeap) {
  EXPECT_EQ(heap_tree(identity(1)).height(), 0);
  EXPECT_EQ(heap_tree(identity(7)).height(), 2);
  EXPECT_EQ(heap_tree(identity(8)).height(), 3);
}

// Two times three ranks in a mesh have one ring, round the rim: 0 1 2 5 4 3.
TEST(WidestRing, OfASmallMesh) {
  Topology mesh{.name = "mesh:2x3", .ranks = 6};
  const auto link = [&mesh](Rank a, Rank b) {
    mesh.links.push_back({.src = a, .dst = b});
    mesh.links.push_back({.src = b, .dst = a});
  };
  for (auto [a, b] : {std::pair{0, 1}, {1, 2}, {3, 4}, {4, 5}, {0, 3}, {1, 4}, {2, 5}}) link(a, b);
  const Order order = widest_ring(mesh);
  ASSERT_EQ(order.size(), 6u);
  EXPECT_EQ(ring_width(mesh, order), 1);
  EXPECT_EQ(ring_decomposition(mesh).size(), 2u);  // the rim, in both directions
}

// A ring through all ranks of a star would pass the middle between any two others.
TEST(WidestRing, NoneWhereThereIsNone) {
  Topology star{.name = "star", .ranks = 4};
  for (Rank n = 1; n < 4; ++n) {
    star.links.push_back({.src = 0, .dst = n});
    star.links.push_back({.src = n, .dst = 0});
  }
  EXPECT_TRUE(widest_ring(star).empty());
  EXPECT_TRUE(ring_decomposition(star).empty());
}

// The shared limit of a hub lets each rank send once a round: one ring, however many links there are.
TEST(RingDecomposition, KeepsSharedLimits) {
  EXPECT_EQ(ring_decomposition(test::hub(6)).size(), 1u);
  EXPECT_GT(ring_decomposition(test::full(6)).size(), 1u);
}

// What rings take of links and limits, together, in each step of an Allgather.
void expect_rounds(const Topology& topology, const std::vector<Ring>& rings, int rounds) {
  std::vector<int> load(topology.links.size(), 0);
  for (const auto& [order, links] : rings) {
    std::vector<Rank> sorted = order;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, identity(topology.ranks));
    ASSERT_EQ(links.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      ++load[links[i]];
      EXPECT_EQ(topology.links[links[i]].src, order[i]);
      EXPECT_EQ(topology.links[links[i]].dst, order[(i + 1) % order.size()]);
    }
  }
  for (std::size_t l = 0; l < load.size(); ++l) EXPECT_LE(load[l], topology.links[l].bandwidth * rounds);
  for (const SharedLimit& limit : topology.limits) {
    int all = 0;
    for (const LinkId l : limit.links) all += load[l];
    EXPECT_LE(all, limit.bandwidth * rounds) << limit.name;
  }
}
void expect_one_round(const Topology& topology, const std::vector<Ring>& rings) {
  expect_rounds(topology, rings, 1);
}

// A machine that is the union of k random rings: its rings are worth k, and no algorithm is worth more, since
// k links enter a rank. Greedy rings obstruct each other on many of them.
TEST(RingPacking, FindsThePlantedRings) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const int ranks = 3 + trial % 8, planted = 1 + trial / 8 % 6;
    Topology machine{.name = "planted", .ranks = ranks};
    for (int k = 0; k < planted; ++k) {
      Order order = identity(ranks);
      std::ranges::shuffle(order, random);
      for (int i = 0; i < ranks; ++i)
        machine.links.push_back({.src = order[i], .dst = order[(i + 1) % ranks]});
    }
    const PackedRings packed = pack_rings(machine);
    EXPECT_GE(packed.rate(), 0.98 * planted) << "trial " << trial;
    EXPECT_LE(packed.rate(), planted) << "trial " << trial;
    expect_rounds(machine, packed.rings, packed.rounds);
  }
}

// All links of a full machine: n - 1 rings' worth, also of four and six ranks, whose directed links do not
// fall apart into rings.
TEST(RingPacking, FillsFullMachines) {
  for (int ranks = 3; ranks <= 10; ++ranks) {
    const Topology machine = test::full(ranks);
    const PackedRings packed = pack_rings(machine);
    EXPECT_GE(packed.rate(), 0.98 * (ranks - 1)) << ranks;
    expect_rounds(machine, packed.rings, packed.rounds);
    const Point point = classic_algorithm("multi_ring_allgather", machine);
    EXPECT_LE(static_cast<double>(point.cost.rounds) / point.cost.chunks, 1 / 0.98) << ranks;
  }
  EXPECT_EQ(pack_rings(test::full(4)).rate(), 3);
  EXPECT_EQ(pack_rings(test::full(8)).rate(), 7);
}

// Random links and limits: what is packed is a ring each, within links and limits, and never more than what
// enters a rank; there is one where a ring is found at all.
TEST(RingPacking, KeepsLinksAndLimitsOfRandomMachines) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 100; ++trial) {
    Topology machine{.name = "random", .ranks = 3 + static_cast<int>(random() % 6)};
    for (Rank a = 0; a < machine.ranks; ++a)
      for (Rank b = 0; b < machine.ranks; ++b)
        if (a != b && random() % 4 != 0)
          machine.links.push_back({.src = a, .dst = b, .bandwidth = 1 + static_cast<int>(random() % 3)});
    SharedLimit limit{.name = "shared", .bandwidth = 1 + static_cast<int>(random() % 4)};
    for (LinkId l = 0; l < std::ssize(machine.links); ++l)
      if (random() % 3 == 0) limit.links.push_back(l);
    if (!limit.links.empty() && trial % 2 == 0) machine.limits.push_back(limit);
    const PackedRings packed = pack_rings(machine);
    expect_rounds(machine, packed.rings, packed.rounds);
    std::vector<int> enters(machine.ranks, 0);
    for (const Link& link : machine.links) enters[link.dst] += link.bandwidth;
    EXPECT_LE(packed.rate(), std::ranges::min(enters)) << "trial " << trial;
    EXPECT_EQ(packed.rings.empty(), widest_ring(machine).empty()) << "trial " << trial;
    const std::vector<Ring> rings = ring_decomposition(machine);
    const double rate = static_cast<double>(rings.size()) / std::max(1, rounds_of(machine, rings));
    EXPECT_GE(rate, 0.99 * packed.rate()) << "trial " << trial;
  }
}

// Meshes that people buy: rings carry what enters a rank, which bounds every algorithm. Rings of whole links
// of one round carry 2 of 3 links on four GPUs, and 6 of 7 on eight.
TEST(RingPacking, FillsMeshesOfGpus) {
  const std::string dump = CHORALE_SOURCE "/tests/data/topology/topo_8p_940.xml";
  for (const Topology& machine : {flatten(load_topology("full:4")), flatten(load_topology("mi300x:1")),
                                  flatten(imported({{dump, read_file(dump)}}, {}).machine)}) {
    std::vector<int> enters(machine.ranks, 0);
    for (const Link& link : machine.links) enters[link.dst] += link.bandwidth;
    const std::vector<Ring> rings = ring_decomposition(machine);
    EXPECT_GE(static_cast<double>(rings.size()) / rounds_of(machine, rings), 0.98 * std::ranges::min(enters))
        << machine.name;
  }
}

TEST(RingPacking, NoneOfTwoRanksAndOfManyRanks) {
  EXPECT_TRUE(pack_rings(test::full(2)).rings.empty());
  EXPECT_TRUE(pack_rings(test::full(11)).rings.empty());
}

// No ring of the decomposition takes what another one has: together they fit into one round.
TEST(RingDecomposition, FitsIntoOneRound) {
  for (const Topology& topology : {test::full(5), test::hub(7), test::ring(9)})
    expect_one_round(topology, ring_decomposition(topology));
}

// Nodes of this many GPUs on a switch, ports of `port`, and this many NICs of 1, each of the next GPUs. With
// `round` also links through NIC and network between GPUs of one node, as parallel links; on rails only GPUs
// of the same place meet.
Topology cluster(int nodes, int gpus, int nics, int port, bool round = false, bool rails = false) {
  Topology t{.name = "cluster", .ranks = nodes * gpus};
  std::vector<SharedLimit> ports(2 * t.ranks), ways(2 * nodes * nics);
  for (auto* limits : {&ports, &ways})
    for (std::size_t i = 0; i < limits->size(); ++i)
      (*limits)[i] = {.name = (limits == &ports ? "port " : "nic ") + std::to_string(i),
                      .bandwidth = limits == &ports ? port : 1};
  const auto nic = [&](Rank n) { return n / gpus * nics + n % gpus * nics / gpus; };
  for (Rank a = 0; a < t.ranks; ++a)
    for (Rank b = 0; b < t.ranks; ++b) {
      if (a == b) continue;
      const LinkId next = static_cast<LinkId>(t.links.size());
      if (a / gpus != b / gpus ? !rails || a % gpus == b % gpus : round) {
        ways[2 * nic(a)].links.push_back(next);
        ways[2 * nic(b) + 1].links.push_back(next);
        t.links.push_back({.src = a, .dst = b, .alpha_us = 5});
      }
      if (a / gpus == b / gpus) {
        ports[2 * a].links.push_back(static_cast<LinkId>(t.links.size()));
        ports[2 * b + 1].links.push_back(static_cast<LinkId>(t.links.size()));
        t.links.push_back({.src = a, .dst = b, .bandwidth = port, .alpha_us = 0.7});
      }
    }
  for (auto* limits : {&ports, &ways})
    for (SharedLimit& limit : *limits)
      if (!limit.links.empty()) t.limits.push_back(std::move(limit));
  return t;
}

// As many rings as NICs, where the switch inside carries them: each leaves and enters each node once, and
// no two by one NIC, or they would not fit into a round.
TEST(RingDecomposition, UsesAllNics) {
  for (const int nodes : {2, 3, 4})
    for (const auto& [gpus, nics] : {std::pair{8, 8}, {8, 4}, {16, 8}, {4, 1}, {6, 3}, {5, 5}})
      for (const int kind : {0, 1, 2}) {
        if (kind == 2 && gpus != nics) continue;  // rails are of a NIC each
        const Topology machine = cluster(nodes, gpus, nics, 2 * nics, kind == 1, kind == 2);
        const std::vector<Ring> rings = ring_decomposition(machine);
        EXPECT_EQ(std::ssize(rings), nics) << nodes << " nodes of " << gpus << ", kind " << kind;
        expect_one_round(machine, rings);
        for (const Ring& ring : rings) {
          int crossings = 0;
          for (const LinkId l : ring.links)
            crossings += machine.links[l].src / gpus != machine.links[l].dst / gpus;
          EXPECT_EQ(crossings, nodes);
        }
        // Per direction 2(n-1)/n of the vector over all NICs of a node: the bound of rings.
        const Point point = classic_algorithm("multi_ring_allreduce", machine);
        const int n = machine.ranks;
        EXPECT_EQ(point.cost, (Cost{.steps = 2 * (n - 1), .rounds = 2 * (n - 1), .chunks = n * nics}));
      }
}

// What NCCL itself dumped: four V100, each two joined by two NVLinks, have six ring channels of one NVLink
// each (issue 713 of NVIDIA/nccl).
TEST(RingDecomposition, HasAsManyChannelsAsNcclOnFourV100) {
  Topology machine = test::full(4);
  for (Link& link : machine.links) link.bandwidth = 2;
  EXPECT_EQ(std::ssize(ring_decomposition(machine)), 6);
  expect_one_round(machine, ring_decomposition(machine));
}

// Dumps of real nodes, whose NICs are one unit each: as many rings as NICs, and 1 GiB in 2(n-1)/n of what
// all of them take.
TEST(RingDecomposition, UsesAllNicsOfRealNodes) {
  const std::filesystem::path folder = CHORALE_SOURCE "/tests/data/topology";
  for (const auto& [file, nics] :
       {std::pair{"h100.xml", 8}, {"azure-ndv4-topo.xml", 8}, {"topology_p4d-24xl-topo.xml", 4}})
    for (const int nodes : {2, 4})
      for (const bool round : {false, true}) {
        const std::string path = (folder / file).string();
        const Import import =
            imported({{path, read_file(path)}}, {.nodes = nodes, .network_within_nodes = round});
        const Topology machine = flatten(import.machine);
        expect_one_round(machine, ring_decomposition(machine));
        const Point point = classic_algorithm("multi_ring_allreduce", machine);
        const int n = machine.ranks;
        EXPECT_EQ(point.cost, (Cost{.steps = 2 * (n - 1), .rounds = 2 * (n - 1), .chunks = n * nics}))
            << file << " " << nodes << (round ? " round" : "");
      }
}

// Ports narrower than all NICs together: as many rings as one port carries.
TEST(RingDecomposition, IsBoundedByTheSwitchInside) {
  for (const int port : {1, 3, 5}) {
    const Topology machine = cluster(2, 8, 8, port);
    EXPECT_EQ(std::ssize(ring_decomposition(machine)), port);
    expect_one_round(machine, ring_decomposition(machine));
  }
}

// Ranks of a 4x4 torus and of a hypercube of 16 have four links per direction, and these machines fall apart
// into as many rings. Dies of an MI250 have more, in half links; twelve rings of a half link each are found,
// and the bound is 7 % away.
TEST(RingDecomposition, FindsRingsThatGetInEachOthersWay) {
  for (const auto& [name, least] : {std::pair{"torus:4x4", 4}, {"hypercube:4", 4}, {"mi250:1", 12}}) {
    const Topology machine = flatten(load_topology(name));
    const std::vector<Ring> rings = ring_decomposition(machine);
    EXPECT_GE(std::ssize(rings), least) << name;
    expect_one_round(machine, rings);
  }
}

TEST(NodesOf, AreJoinedByShortLinks) {
  EXPECT_EQ(nodes_of(test::full(6)).ranks.size(), 1u);
  EXPECT_EQ(nodes_of(cluster(3, 4, 2, 8)).ranks,
            (std::vector<std::vector<Rank>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}));
  Topology near = cluster(2, 2, 1, 1);
  for (Link& link : near.links) link.alpha_us = link.alpha_us > 1 ? 1.2 : 1;  // too close to tell
  EXPECT_EQ(nodes_of(near).ranks.size(), 1u);
}

// Double trees over nodes, chains inside: with many chunks the NICs of a node carry, per direction, as many
// of two chunks as its two places have edges: of two nodes one and one; of three, three edges at the middle
// of the first and end of the second; of four, three and one.
TEST(NodeTrees, UseAllNics) {
  for (const int nodes : {2, 3, 4})
    for (const bool rails : {false, true}) {
      const int nics = 8, port = 64;
      const Topology machine = cluster(nodes, 8, nics, port, false, rails);
      const Point point = classic_algorithm("two_tree_allreduce", machine, {.chunks = 2 * nics * 200});
      const double rate = static_cast<double>(point.cost.rounds) / point.cost.chunks;
      EXPECT_NEAR(rate, nodes / 2.0 / nics, 0.03) << nodes << (rails ? " on rails" : "");
    }
}

// Chunks that ranks send and receive; one that is relayed counts once a hop.
struct Moved {
  std::vector<int> sent, received;
  int total = 0;
};

Moved moved_by(const Topology& topology, const Schedule& schedule) {
  Moved moved{.sent = std::vector<int>(topology.ranks), .received = std::vector<int>(topology.ranks)};
  for (const Step& step : schedule.steps)
    for (const Send& send : step.sends) {
      ++moved.sent[topology.links[send.link].src];
      ++moved.received[topology.links[send.link].dst];
      ++moved.total;
    }
  return moved;
}

// The properties of the ring (papers: ring all-reduce): a vector of V bytes, p ranks, links of bandwidth B.
// Each phase moves (p-1)V/p bytes in and out of every rank, (p-1)V in all; it takes (p-1)/p * V/B, which
// differs from V/B only by that factor, however many ranks there are; and what a rank holds more than its own
// V/p after an Allgather (or gives up in a ReduceScatter) is just what it has received (sent).
TEST(Ring, HasThePropertiesOfItsPaper) {
  for (int p = 2; p <= 32; ++p) {
    const Topology topology = test::ring(p);
    const double v = 1 << 20, chunk_bytes = v / p;  // C = 1 chunk per block, p blocks
    for (const std::string name : {"ring_reducescatter", "ring_allgather"}) {
      const Point point = classic_algorithm(name, topology, {.chunks = 1});
      const Moved moved = moved_by(topology, point.schedule);
      for (Rank n = 0; n < p; ++n) {
        EXPECT_DOUBLE_EQ(moved.sent[n] * chunk_bytes, (p - 1) * v / p);
        EXPECT_DOUBLE_EQ(moved.received[n] * chunk_bytes, (p - 1) * v / p);
      }
      EXPECT_DOUBLE_EQ(moved.total * chunk_bytes, (p - 1) * v);

      const double time = point.cost.rounds * chunk_bytes;  // in units of 1/B
      EXPECT_DOUBLE_EQ(time / v, (p - 1.0) / p);

      int redundant = 0;
      for (Rank n = 0; n < p; ++n) {
        const int more = std::abs(output_chunks(point.collective, n) - input_chunks(point.collective, n));
        EXPECT_EQ(more, moved.sent[n]);
        redundant += more;
      }
      EXPECT_EQ(redundant, moved.total);
    }
    const Point both = classic_algorithm("ring_allreduce", topology, {.chunks = 1});
    EXPECT_DOUBLE_EQ(moved_by(topology, both.schedule).total * chunk_bytes, 2 * (p - 1) * v);
    EXPECT_DOUBLE_EQ(both.cost.rounds * chunk_bytes / v, 2 * (p - 1.0) / p);
  }
}

}  // namespace
}  // namespace chorale
