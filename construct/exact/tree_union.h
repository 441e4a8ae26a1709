// AllReduce on spanning trees side by side; each chunk goes up one and down again.
#pragma once

#include <optional>
#include <vector>

#include "construct/engine/packing.h"
#include "ir/topology.h"

namespace chorale {

struct Edge {
  Rank a = 0;
  Rank b = 0;
  int copies = 1;  // bandwidth in each direction
};

// `trees` spanning trees that load the fullest edge little; its load is the trees over it divided by its
// copies. Mostly the least that there is, which the weakest partition shows (Nash-Williams, Tutte 1961), and
// within some per cent of it (mesh:32x32, 64 trees: 34 a unit, and 33 is the least). Low, too: each grows
// from a middle of the network. Requires a connected network.
struct SpreadTrees {
  int rounds = 0;  // of the fullest edge, an integer
  std::vector<std::vector<int>> trees = {};
};
SpreadTrees spread_spanning_trees(int ranks, const std::vector<Edge>&, int trees);

// A tree for each chunk, such that each link carries at most rounds * bandwidth of them in each direction; no
// schedule whose chunks each go up and down one tree has fewer than partitions ask for (docs/bounds.md).
// Chunks are a multiple of the different trees, as few as have the best rate that was found. Nothing if the
// machine is not connected, has shared limits, or links are wider in one direction than in the other.
struct SumTrees {
  int rounds = 0;
  int different = 0;                         // number of different trees; chunks use them round-robin
  std::vector<Edge> edges = {};              // copies: rounds * bandwidth
  std::vector<std::vector<int>> trees = {};  // by chunk
};
std::optional<SumTrees> sum_trees(const Topology&, int chunks);

// Returns the same as a packing of an AllReduce, each tree up to its middle and down again; of as many
// chunks as there are different trees, of which `chunks` are a multiple.
std::optional<ChunkPacking> tree_union(const Topology&, int chunks);

}  // namespace chorale
