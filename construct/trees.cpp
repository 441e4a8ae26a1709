// Trees are built over positions in an order, and ranks put at the positions last; so one construction serves
// every root and every order, and the second of two trees is the first shifted by one position. A plan only
// states when chunk c passes an edge: the step it starts in plus the edge's depth, which is all there is to
// pipelining.
//
// The two trees come from one fact: in split(), inner ranks are at odd positions and leaves at even ones.
// Shifted by one position, inner ranks are at even positions, and no rank is inner in both.
#include "construct/trees.h"

#include <algorithm>

namespace chorale {
namespace {

Tree with_depths(std::vector<Rank> parent) {
  Tree tree{.parent = std::move(parent)};
  for (Rank n : tree.parent) {
    int depth = 0;
    for (Rank above = n; above >= 0; above = tree.parent[above]) ++depth;
    tree.depth.push_back(depth);
  }
  return tree;
}

// Makes a tree of the positions [from, to), `from` even, below `above`: its root is an odd position next to
// the middle, so that each side starts at an even position again, and the left side is never empty: odd
// positions are inner. Of four positions: 3 above 1, 1 above 0 and 2.
void split(int from, int to, int above, std::vector<int>& parent) {
  if (from >= to) return;
  const int middle = to - from == 1 ? from : from + (to - from) / 2 / 2 * 2 + 1;
  const int root = std::min(middle, to - 1);
  parent[root] = above;
  if (to - from == 1) return;
  split(from, root, root, parent);
  split(root + 1, to, root, parent);
}

Tree at_places(const std::vector<int>& parent, const std::vector<Rank>& order, int moved) {
  const int n = static_cast<int>(order.size());
  std::vector<Rank> of_rank(n, -1);
  for (int i = 0; i < n; ++i)
    if (parent[i] >= 0) of_rank[order[(i + moved) % n]] = order[(parent[i] + moved) % n];
  return with_depths(std::move(of_rank));
}

}  // namespace

int Tree::height() const {
  return *std::ranges::max_element(depth);
}
bool Tree::is_inner(Rank n) const {
  return std::ranges::count(parent, n) > 0;
}

Tree heap_tree(const std::vector<Rank>& order) {
  std::vector<Rank> parent(order.size(), -1);
  for (std::size_t i = 1; i < order.size(); ++i) parent[order[i]] = order[(i - 1) / 2];
  return with_depths(std::move(parent));
}

std::pair<Tree, Tree> two_trees(const std::vector<Rank>& order) {
  std::vector<int> parent(order.size(), -1);
  split(0, static_cast<int>(order.size()), -1, parent);
  return {at_places(parent, order, 0), at_places(parent, order, 1)};
}

Tree chained_tree(const std::vector<int>& node_parent, const std::vector<std::vector<Rank>>& chains) {
  std::size_t ranks = 0;
  for (const std::vector<Rank>& chain : chains) ranks += chain.size();
  std::vector<Rank> parent(ranks, -1);
  for (std::size_t j = 0; j < chains.size(); ++j) {
    if (node_parent[j] >= 0)
      parent[chains[j].front()] = chains[static_cast<std::size_t>(node_parent[j])].front();
    for (std::size_t i = 1; i < chains[j].size(); ++i) parent[chains[j][i]] = chains[j][i - 1];
  }
  return with_depths(std::move(parent));
}

// A rank at depth d sends up in step height - d, one after all its children, and receives in step height + d
// - 1, one after its parent; both counted from the step in which the chunk starts. Chunks of one tree start
// one step after the other, those of different trees together.
Plan tree_allreduce(const std::vector<Tree>& trees, int chunks) {
  Plan plan;
  for (Chunk c = 0; c < chunks; ++c) {
    const Tree& tree = trees[c % trees.size()];
    const int started = c / static_cast<int>(trees.size());
    const int height = tree.height();
    for (Rank n = 0; n < static_cast<int>(tree.parent.size()); ++n) {
      const Rank above = tree.parent[n];
      if (above < 0) continue;
      add(plan, started + height - tree.depth[n], {.chunk = c, .src = n, .dst = above, .reduce = true});
      add(plan, started + height + tree.depth[n] - 1, {.chunk = c, .src = above, .dst = n});
    }
  }
  return plan;
}

Plan tree_broadcast(const Tree& tree, int chunks) {
  Plan plan;
  for (Chunk c = 0; c < chunks; ++c)
    for (Rank n = 0; n < static_cast<int>(tree.parent.size()); ++n)
      if (tree.parent[n] >= 0)
        add(plan, c + tree.depth[n] - 1, {.chunk = c, .src = tree.parent[n], .dst = n});
  return plan;
}

Plan binomial_broadcast(const std::vector<Rank>& order, int chunks) {
  Plan plan;
  const int ranks = static_cast<int>(order.size());
  for (int k = 0; 1 << k < ranks; ++k)
    for (int i = 0; i < 1 << k && i + (1 << k) < ranks; ++i)
      for (Chunk c = 0; c < chunks; ++c)
        add(plan, k, {.chunk = c, .src = order[i], .dst = order[i + (1 << k)]});
  return plan;
}

// In step k a position that is an odd multiple of 2^k passes on what the 2^k positions from it on have had,
// and is done.
Plan binomial_gather(const std::vector<Rank>& order, int chunks) {
  Plan plan;
  const int ranks = static_cast<int>(order.size());
  for (int k = 0; 1 << k < ranks; ++k)
    for (int i = 1 << k; i < ranks; i += 2 << k)
      for (int j = i; j < std::min(i + (1 << k), ranks); ++j)
        for (int piece = 0; piece < chunks; ++piece)
          add(plan, k, {.chunk = order[j] * chunks + piece, .src = order[i], .dst = order[i - (1 << k)]});
  return plan;
}

}  // namespace chorale
