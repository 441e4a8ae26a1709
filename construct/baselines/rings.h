// The rings and trees of a machine that baselines go along (rings: Patarasuk and Yuan 2009; papers: ring
// properties).
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "construct/baselines/ring.h"

namespace chorale {

// Returns the ring in the other direction, its links as they are: those of a plan that goes backwards, too.
Ring reversed_ring(const Ring&);

// Returns the chunks per round over the narrowest link of the ring; 0 if one is missing. One rank alone is a
// ring of width 1.
int ring_width(const Topology&, const Order&);
inline bool is_ring(const Topology& topology, const Order& order) {
  return ring_width(topology, order) > 0;
}

// The widest ring through all ranks (its narrowest link is as wide as can be), found by backtracking; empty
// where none was found within a fixed work budget, which for the machines of this project means that there is
// none.
Order widest_ring(const Topology&);

// The nodes of a machine: ranks that are joined by links whose latencies are clearly below those of the
// network, by a factor of 1.5 at least. All ranks are one node where latencies do not differ so.
struct Nodes {
  std::vector<std::vector<Rank>> ranks = {};                    // of each; by their first
  double network_us = std::numeric_limits<double>::infinity();  // links inside of nodes have less
};
Nodes nodes_of(const Topology&);

// Returns rings that share the machine: the widest, as often as its links and limits carry it within a round,
// then the widest of what is left. Where fractions of rings carry more (construct/baselines/ring_packing.h),
// as many as several rounds carry: of four linked GPUs six in two rounds. On a machine of several nodes a
// ring visits each node once: it enters by one NIC, passes all ranks and leaves by one NIC, and other rings
// use other NICs, as NCCL's channels do. dgx1: its double ring twice in each direction, its single ring once
// in each, as NCCL uses it. Beyond 10 ranks greedy: where rings obstruct each other there may be more
// (torus). Empty where there is no ring.
std::vector<Ring> ring_decomposition(const Topology&);

// Tree algorithms. A tree is given by the parent of each rank.

struct Tree {
  std::vector<Rank> parent = {};  // -1 of the root
  std::vector<int> depth = {};    // hops from the root
  int height() const;             // depth of the deepest rank
  bool is_inner(Rank) const;      // has a child
};

// Returns the complete binary tree in the order of a heap: order[i] below order[(i - 1) / 2].
Tree heap_tree(const std::vector<Rank>& order);

// Two binary trees of logarithmic height such that no rank is inner in both (Sanders, Speck and Traeff 2009):
// in the first, read from left to right, leaves are at even positions and inner ranks at odd ones; the second
// is the first shifted by one position. So each rank is kept busy in both directions by its inner tree, and
// what it does as a leaf of the other is one send and one receive.
std::pair<Tree, Tree> two_trees(const std::vector<Rank>& order);

// Returns log2(ranks) spanning trees from order[0] that have no link of the hypercube in common: tree j is a
// binomial tree below the neighbour over dimension j (Johnsson and Ho 1989). Requires a power of two.
std::vector<Tree> disjoint_binomial_trees(const std::vector<Rank>& order);

// Returns a tree over nodes, with a chain inside each: parent of each node (-1 of the root), and by node its
// ranks, the one that is linked with other nodes first.
Tree chained_tree(const std::vector<int>& node_parent, const std::vector<std::vector<Rank>>& chains);
// Returns the same with all other ranks of a node next to the first.
Tree star_tree(const std::vector<int>& node_parent, const std::vector<std::vector<Rank>>& nodes);

}  // namespace chorale
