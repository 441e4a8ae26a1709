// Tree algorithms. A tree is given by the parent of each rank.
#pragma once

#include <utility>
#include <vector>

#include "construct/plan.h"

namespace chorale {

struct Tree {
  std::vector<Rank> parent = {};  // -1 of the root
  std::vector<int> depth = {};    // hops from the root
  int height() const;             // depth of the deepest rank
  bool is_inner(Rank) const;      // has a child
};

// The complete binary tree in the order of a heap: order[i] below order[(i - 1) / 2].
Tree heap_tree(const std::vector<Rank>& order);

// Two binary trees of logarithmic height such that no rank is inner in both (Sanders, Speck and Traeff 2009):
// in the first, read from left to right, leaves are at even positions and inner ranks at odd ones; the second
// is the first shifted by one position. So each rank is kept busy in both directions by its inner tree, and
// what it does as a leaf of the other is one send and one receive.
std::pair<Tree, Tree> two_trees(const std::vector<Rank>& order);

// A tree over nodes, with a chain inside each: parent of each node (-1 of the root), and by node its ranks,
// the one that is linked with other nodes first.
Tree chained_tree(const std::vector<int>& node_parent, const std::vector<std::vector<Rank>>& chains);

// Pipelined, one chunk per step over each edge; chunk i uses trees[i % trees.size()]. All ranks'
// contributions go up and are added; from the root, the sum goes down while later chunks still go up.
Plan tree_allreduce(const std::vector<Tree>& trees, int chunks);
Plan tree_broadcast(const Tree&, int chunks);

// Binomial trees: in step k the first 2^k ranks of `order` send to the next 2^k. The root is order[0]; any
// number of ranks. Gather sends what its subtree has collected; chunk i of rank n's block is n * chunks + i.
Plan binomial_broadcast(const std::vector<Rank>& order, int chunks);
Plan binomial_gather(const std::vector<Rank>& order, int chunks);

}  // namespace chorale
