// AllReduce on spanning trees: each chunk goes up one and down again.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "construct/spanning_trees.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Has each pair of ranks the same bandwidth both ways, and is no limit shared?
bool is_undirected(const Topology&);

// A tree for each chunk, such that each link carries each way at most rounds * bandwidth of them: the fewest rounds in which
// any trees do, and so in which any schedule does whose chunks each go up and down one tree (docs/bounds.md, partition); of
// many ranks, the fewest for as many different trees as are packed in a second or two, of which chunks are a multiple. None
// where the machine is not undirected, or where ranks are apart.
struct SumTrees {
  int rounds = 0;
  int different = 0;                         // trees; chunks take them in turns
  std::vector<Edge> edges = {};              // copies: rounds * bandwidth
  std::vector<std::vector<int>> trees = {};  // by chunk
};
std::optional<SumTrees> sum_trees(const Topology&, int chunks);

// Schedules of an AllReduce over them: of few steps and many rounds, and of more steps and fewer rounds, none better than
// another in both, by steps. In steps of few rounds each their rounds come near SumTrees::rounds as chunks grow, all but the
// rounds that it takes to fill the trees and to empty them. None as above, of other collectives, or when stopped.
std::vector<Schedule> sum_on_trees(const Topology&, const Collective&,
                                   const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
