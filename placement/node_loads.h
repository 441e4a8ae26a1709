// What an order of nodes sends over each link up, kept as nodes are put on leaves and taken off again.
#pragma once

#include <string>
#include <vector>

#include "ir/node_order.h"
#include "ir/placement.h"

namespace chorale {

// The traffic between the nodes of a job: its mesh of ranks cut into nodes, and what each communication sends
// from node to node.

// What a group of nodes does. A ring goes in the order of the mesh, as NCCL's rings follow the ranks: from
// each node to the next, from the last to the first. A line has no way back; All: from each to each other.
enum class GroupPattern { Ring, Line, All };

// Communications of the same pattern over the same axes.
struct NodeTraffic {
  GroupPattern pattern = GroupPattern::Ring;
  std::vector<int> axes = {};  // of the mesh of nodes, ascending
  double bytes = 0;            // of one message from node to node, all of an iteration
  std::vector<std::pair<int, double>> reductions = {};  // of the job, each with its part of `bytes`
  std::vector<std::vector<int>> groups = {};            // nodes, in order; each node is in one
};

struct NodeMesh {
  std::vector<int> sizes = {};  // by axis of the job: its factor between nodes
  int nodes = 1;
  std::vector<NodeTraffic> traffic = {};  // none that stays inside of nodes
};

// Of ranks in the order of the mesh, the first axis the slowest, `node_ranks` consecutive ones per node. An
// AllReduce is done by rings over as many NICs as a node has ranks in the group: 2 (K-1)/K of its bytes on
// every edge of a ring of K ranks. Throws InputError if a node's ranks are no box of the mesh, or if the job
// has communications that run side by side.
NodeMesh node_mesh(const Job&, int node_ranks);

// The links up of the switches above a job's hosts.

struct Uplink {  // of a switch that has some of the job's hosts below it, and not all
  std::string name = {};
  double gbs = 0;  // in each direction
  int hosts = 0;   // of the job, below it
  int above = -1;  // the next one further up
  bool operator==(const Uplink&) const = default;
};

struct NodeTree {
  std::vector<Uplink> uplinks = {};  // those above come after those below
  struct Leaf {                      // hosts that are alike: they hang on one switch
    std::vector<int> hosts = {};     // of Allocation::hosts
    int uplink = -1;                 // -1: all of the job's hosts hang on one switch
  };
  std::vector<Leaf> leaves = {};
  double node_gbs = 0;

  std::vector<std::vector<int>> below_uplinks()
      const;  // by uplink: those right below it; the last: the root's
  std::vector<std::vector<int>> above_leaves() const;  // by leaf: its uplinks, from the nearest on
};

// Switches with the same hosts below them are one, as fast as the slowest.
NodeTree node_tree(const Allocation&, const NetworkRates&);

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
