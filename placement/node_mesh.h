// The traffic between the nodes of a job: its mesh of ranks cut into nodes, and what each communication sends
// from node to node.
#pragma once

#include <vector>

#include "ir/placement.h"

namespace chorale {

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

}  // namespace chorale
