// AllReduce on spanning trees, exactly: as many side by side as any partition allows; each chunk goes up one
// and down again.
#pragma once

#include <optional>
#include <vector>

#include "construct/packing.h"
#include "construct/spanning_trees.h"
#include "ir/topology.h"

namespace chorale {

// Has each pair of ranks the same bandwidth both ways, and is no limit shared?
bool is_undirected(const Topology&);

// A tree for each chunk, such that each link carries each way at most rounds * bandwidth of them: the fewest
// rounds in which any trees do, and so in which any schedule does whose chunks each go up and down one tree
// (docs/bounds.md, partition); of many ranks, the fewest for as many different trees as are packed in a
// second or two, of which chunks are a multiple. None where the machine is not undirected, or where ranks are
// apart.
struct SumTrees {
  int rounds = 0;
  int different = 0;                         // trees; chunks take them in turns
  std::vector<Edge> edges = {};              // copies: rounds * bandwidth
  std::vector<std::vector<int>> trees = {};  // by chunk
};
std::optional<SumTrees> sum_trees(const Topology&, int chunks);

// The same as a packing of an AllReduce, each tree up to its middle and down again; of as many chunks as
// there are different trees, of which `chunks` are a multiple.
std::optional<ChunkPacking> tree_union(const Topology&, int chunks);

}  // namespace chorale
