// What an order of nodes sends over each link up, kept as nodes are put on leaves and taken off again.
#pragma once

#include <vector>

#include "ir/node_order.h"
#include "placement/node_mesh.h"
#include "placement/node_tree.h"

namespace chorale {

using LeafOfNode = std::vector<int>;  // by node of the mesh: its leaf of the tree

class NodeLoads {
 public:
  NodeLoads(const NodeMesh&, const NodeTree&);  // both outlive it
  NodeLoads(const NodeMesh&, const NodeTree&, const LeafOfNode&);

  void put(int node, int leaf);
  void take(int node);
  void swap(int a, int b);
  int leaf(int node) const { return leaf_[node]; }  // -1: on none

  // Of messages between nodes that are on leaves, with the rates of all nodes: never more for fewer nodes.
  OrderTime time() const;
  // us, and this part of the mean over the links, which leads a local search over plateaus.
  double smooth_us(double part) const;
  // Messages beyond those that links carry in the times of the communications, as parts of what a node sends.
  using Limits = std::vector<std::vector<int>>;  // [traffic][uplink]
  Limits limits(const std::vector<double>& us) const;
  double excess(const Limits&) const;
  double traffic_us(int traffic) const;
  int busiest(int traffic) const;  // uplink; -1: no one takes longer than the nodes' own links

 private:
  struct Load {
    int out = 0, in = 0;  // messages
  };
  void count(int traffic, int from, int to, int by);
  void count_all(int traffic, int node, int leaf, int by);
  void change(int node, int leaf, int by);

  const NodeMesh& mesh_;
  const NodeTree& tree_;
  const std::vector<std::vector<int>> above_;
  std::vector<std::vector<char>> inside_ = {};             // [uplink][leaf]
  std::vector<int> leaf_ = {};                             // by node
  std::vector<std::vector<int>> group_ = {};               // [traffic][node]
  std::vector<std::vector<int>> next_ = {}, before_ = {};  // [traffic][node]; -1: none
  std::vector<std::vector<Load>> loads_ = {};              // [traffic][uplink]
  std::vector<std::vector<std::vector<int>>> within_ =
      {};  // of All: [traffic][group][uplink], and all placed
};

// Messages that leave a node of the traffic at most.
int messages_of_a_node(const NodeTraffic&);

}  // namespace chorale
