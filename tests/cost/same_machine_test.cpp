// What a schedule costs on a machine's graph and what a strategy's instruction costs on its levels, where
// both are the same ring: `frontier` and `place` speak of one machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "construct/baselines/classic.h"
#include "cost/cost.h"
#include "cost/simulator.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// An AllReduce over all devices: 2(n-1) steps, in each of which every device sends an n-th of its vector to
// the next one; or as many rings as share the machine, where levels have several. Blocks are cut such that a
// step fills the slowest link of the ring, which then is as busy as the levels say.
TEST(SameMachine, ARingTakesAsLongOverLinksAsOverLevels) {
  int several = 0;  // with rings side by side
  for (const std::string name :
       {"hub:6", "ring:5", "dgx2", "full:4", "a100:1", "a100:2", "v100:1", "rack:1x2x2x2", "dgx-a100:2"}) {
    const Topology graph = flatten(load_topology(name));
    const Hierarchy levels = load_hierarchy(name);
    const int n = graph.ranks;
    std::vector<Rank> order(n);
    std::iota(order.begin(), order.end(), 0);
    if (name == "dgx-a100:2")
      std::reverse(order.begin() + 8, order.end());  // nodes are left and entered on a rail
    int chunks = 1 << 20;
    for (int i = 0; i < n; ++i)
      chunks = std::min(chunks, graph.links[find_link(graph, order[i], order[(i + 1) % n])].bandwidth);
    const Point ring = classic_algorithm("ring_allreduce", graph, {.chunks = chunks, .order = order});
    ASSERT_EQ(ring.cost.steps, 2 * (n - 1)) << name;

    const Point rings = classic_algorithm("multi_ring_allreduce", graph, {});

    std::vector<LevelSplit> splits(levels.levels.size());
    std::vector<bool> joined;
    for (std::size_t j = 0; j < splits.size(); ++j) {
      splits[j].members.resize(levels.levels[j].fan_out);
      std::iota(splits[j].members.begin(), splits[j].members.end(), 0);
      joined.push_back(levels.levels[j].fan_out > 1);
    }
    for (double bytes : {1e3, 1e9}) {
      const GroupLoad all{.places = std::vector<Place>(splits.size(), Place::All), .bytes = bytes};
      const StepTime time =
          Simulator(levels, splits)
              .time(StrategyInstruction::Operation::AllReduce, joined, {all}, Algorithm::Ring);
      const double of_graph = time_us(time.rings > 1 ? rings.cost : ring.cost, graph, bytes);
      // Rings of the graph may go through the host, too, where NVLinks are taken.
      const double slack = name == "v100:1" ? 0.04 : 1e-5;
      EXPECT_NEAR(of_graph, time.us, slack * time.us) << name << ", " << bytes << " bytes";
      EXPECT_LE(of_graph, time.us * (1 + 1e-5)) << name << ", " << bytes << " bytes";
      several += time.rings > 1;
    }
  }
  EXPECT_EQ(several, 6);
}

}  // namespace
}  // namespace chorale
