// A graph as a Cartesian product: a torus is cycle x cycle, a mesh line x line, a hypercube edge x edge x
// edge, a DGX-1 is two quads, complete(4) x edge. Found from the links alone, however the nodes are numbered.
#pragma once

#include <vector>

#include "pages/drawing_work.h"

namespace chorale {

// Simple and undirected: sorted neighbours of each node.
using Graph = std::vector<std::vector<int>>;

struct GraphFactor {
  enum class Kind { Path, Cycle, Complete, Other };  // an edge is a Path of two, a triangle a Cycle of three
  Kind kind = Kind::Other;
  int size = 1;
  // By node of the product: its position, 0 .. size - 1, along the path or round the cycle.
  std::vector<int> at = {};
};

// In the order in which the links of node 0, then 1, .. are of them, so that ranks in row-major order have
// their columns first. Two edges make a cycle of four, and are one if `squares`. A graph that is not a
// product, is not connected, has over 4,096 edges or more than there is work for is one factor.
std::vector<GraphFactor> factors_of(const Graph&, DrawingWork&, bool squares = true);

// Hops from a node to every node; -1 where there is no path.
std::vector<int> hops_in(const Graph&, int from);

}  // namespace chorale
