// Baselines of rings against the bounds of a search: where rings are optimal a speedup over them is 1.00x,
// and no bound exceeds what they reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "construct/baselines/classic.h"
#include "ir/machine.h"
#include "pareto/strongest_bounds.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Rounds per chunk of NCCL's rings over the bound on any schedule.
double over_bound(const Topology& topology, const char* method, const char* name) {
  const Cost cost = classic_algorithm(method, Machine(topology)).cost;
  const Collective one = make_collective(name, topology.ranks, 1);
  StrongestBounds bounds(topology, one);
  const Claim& rate = bounds.rate();
  return static_cast<double>(cost.rounds) / cost.chunks * rate.chunks / rate.rounds;
}

// The union of k random rings, each of one width: k rings' worth of links enter a rank, which bounds every
// algorithm, and its rings carry that. Few of them are fewer rounds of larger links.
Topology planted(std::mt19937& random, int ranks, int rings) {
  Topology machine{.name = "planted", .ranks = ranks};
  std::vector<Rank> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  for (int k = 0; k < rings; ++k) {
    std::ranges::shuffle(order, random);
    const int width = 1 + static_cast<int>(random() % 2);
    for (int i = 0; i < ranks; ++i)
      machine.links.push_back({.src = order[i], .dst = order[(i + 1) % ranks], .bandwidth = width});
  }
  return machine;
}

TEST(RingBaselines, AreOptimalOnPlantedMeshes) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const Topology machine = planted(random, 3 + trial % 7, 1 + trial / 7 % 5);
    const double ratio = over_bound(machine, "multi_ring_allgather", "allgather");
    EXPECT_GE(ratio, 1) << "trial " << trial;
    EXPECT_LE(ratio, 1.02) << "trial " << trial;
  }
}

TEST(RingBaselines, AreOptimalOnMeshesOfGpus) {
  const std::string dump = CHORALE_SOURCE "/tests/data/topology/topo_8p_940.xml";
  for (const std::string& name :
       {std::string("full:4"), std::string("full:8"), std::string("mi300x:1"), dump})
    for (const auto& [method, collective] : {std::pair("multi_ring_allreduce", "allreduce"),
                                             {"multi_ring_allgather", "allgather"},
                                             {"multi_ring_reducescatter", "reducescatter"}}) {
      const double ratio = over_bound(flatten(load_topology(name)), method, collective);
      EXPECT_GE(ratio, 1) << name << " " << collective;
      EXPECT_LE(ratio, 1.02) << name << " " << collective;
    }
}

// Random links of random widths: rings are mostly not optimal, and never better than the bound.
TEST(RingBaselines, AreNotBelowTheBoundOfRandomMachines) {
  std::mt19937 random(13);
  int compared = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Topology machine{.name = "random", .ranks = 3 + static_cast<int>(random() % 5)};
    for (Rank a = 0; a < machine.ranks; ++a)
      for (Rank b = 0; b < machine.ranks; ++b)
        if (a != b && random() % 4 != 0)
          machine.links.push_back({.src = a, .dst = b, .bandwidth = 1 + static_cast<int>(random() % 3)});
    if (!classic_if_possible(Method::MultiRingAllgather, Machine(machine))) continue;
    ++compared;
    EXPECT_GE(over_bound(machine, "multi_ring_allgather", "allgather"), 1) << "trial " << trial;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace chorale
