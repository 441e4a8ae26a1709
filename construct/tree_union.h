// AllReduce on spanning trees, exactly: as many side by side as any partition allows; each chunk goes up one
// and down again.
#pragma once

#include <optional>
#include <vector>

#include "construct/packing.h"
#include "construct/spanning_trees.h"
#include "ir/topology.h"

namespace chorale {

// Does each pair of ranks have equal bandwidth in both directions, and has the machine no shared limits?
bool is_undirected(const Topology&);

// A tree for each chunk, such that each link carries at most rounds * bandwidth of them in each direction:
// the fewest rounds in which any trees do, and so in which any schedule does whose chunks each go up and down
// one tree (docs/bounds.md, partition); for many ranks, the fewest for as many different trees as are packed
// in a second or two, of which chunks are a multiple. Nothing if the machine is not undirected, or not
// connected.
struct SumTrees {
  int rounds = 0;
  int different = 0;                         // number of different trees; chunks use them round-robin
  std::vector<Edge> edges = {};              // copies: rounds * bandwidth
  std::vector<std::vector<int>> trees = {};  // by chunk
};
std::optional<SumTrees> sum_trees(const Topology&, int chunks);

// The same as a packing of an AllReduce, each tree up to its middle and down again; of as many chunks as
// there are different trees, of which `chunks` are a multiple.
std::optional<ChunkPacking> tree_union(const Topology&, int chunks);

}  // namespace chorale
