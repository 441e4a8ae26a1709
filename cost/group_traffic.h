// What one group of devices sends where, for the algorithms of NCCL, seen from a hierarchy.
//
// The group's devices are a box: at some levels of the hierarchy, outermost first, they take sizes[0] x
// sizes[1] x ... positions ("digits"). Its order is that of these digits. Weights are in units of the bytes
// of the operation.
#pragma once

#include <vector>

namespace chorale {

// The traffic at one of these levels, among the children of a unit. Where units differ, each number is that
// of the busiest one.
struct LevelTraffic {
  struct Pair {
    int from = 0;
    int to = 0;
    double weight = 0;
  };
  std::vector<Pair> pairs = {};  // flows between two children of one unit
  // By digit of the child: what it sends to (and gets from) its siblings, what leaves (and enters) the unit
  // from it, and both together.
  std::vector<double> own_out = {}, own_in = {};
  std::vector<double> leaving_out = {}, leaving_in = {};
  std::vector<double> all_out = {}, all_in = {};
  double crossing_out() const;  // of the busiest child
  double crossing_in() const;
};

using GroupTraffic = std::vector<LevelTraffic>;

// Parallel cycles, each with an equal share of the data, as libraries build them if a single one would not
// use all exits of a node.
struct Cycles {
  // As many as a child of the outermost level has devices: inside of it, the digits of each level begin at
  // another one, so every device is once the last and once the first.
  bool turned = false;
  bool bidirectional = false;  // and each of them backwards, too
  bool operator==(const Cycles&) const = default;
  auto operator<=>(const Cycles&) const = default;
};
int count(const Cycles&, const std::vector<int>& sizes);

// Sizes are at least 2. Each device sends 1 to the next, the last to the first; or shares of it in several
// cycles.
GroupTraffic cycle_traffic(const std::vector<int>& sizes, const Cycles& = {});
// Returns the same without the last edge.
GroupTraffic chain_traffic(const std::vector<int>& sizes);
// Returns the same without the first edge: from the second device to the last, and on to the first.
GroupTraffic chain_back_traffic(const std::vector<int>& sizes);
// Each device sends 1 to each other.
GroupTraffic all_to_all_traffic(const std::vector<int>& sizes);
// Returns the traffic of an AllReduce along a chain inside each node and a double binary tree over nodes
// (the shape of NCCL's): 1 up and 1 down each edge of the chain, 1/2 up and 1/2 down each edge of either
// tree. The first `outer` sizes are outside of nodes. `pairs` of outer levels are listed only on request:
// they are many. `turned` (rotated): as many such trees as a node has devices, each with an equal share of
// the data and begun at another device of every node.
GroupTraffic tree_traffic(const std::vector<int>& sizes, int outer, bool outer_pairs, bool turned = false);

// The parent of each of n nodes in either tree; -1 for its root. Inner nodes of one tree are leaves of the
// other (Sanders, Speck, Traeff 2009), but for node 0 of an odd number, which is inner in both.
struct DoubleTree {
  std::vector<int> first = {};
  std::vector<int> second = {};
};
DoubleTree double_tree(int n);

}  // namespace chorale
