// The shapes that the algorithms run on, and the ring's properties.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "construct/classic.h"
#include "construct/rings.h"
#include "construct/trees.h"
#include "tests/semantics/machines.h"

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
  EXPECT_EQ(ring_decomposition(mesh).size(), 2u);  // the rim, both ways
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

// No ring of the decomposition takes what another one has: together they fit into one round.
TEST(RingDecomposition, FitsIntoOneRound) {
  for (const Topology& topology : {test::full(5), test::full(8), test::hub(7), test::ring(9)}) {
    std::vector<int> load(topology.links.size(), 0);
    for (const Order& order : ring_decomposition(topology))
      for (std::size_t i = 0; i < order.size(); ++i)
        ++load[find_link(topology, order[i], order[(i + 1) % order.size()])];
    for (std::size_t l = 0; l < load.size(); ++l) EXPECT_LE(load[l], topology.links[l].bandwidth);
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
    const double v = 1 << 20, chunk_bytes = v / p;  // C = 1 chunk a block, p blocks
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
