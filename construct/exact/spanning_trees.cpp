// Matroid union with cyclic scanning (Roskind and Tarjan 1985). A copy of an edge goes into a forest where it
// closes no cycle. If it closes one everywhere, each edge of the cycle in the first forest could make room by
// moving to the next one, where it may close a cycle again: breadth first through these exchanges to an edge
// that finds room, then all move up. If none does, the ends of all edges that were examined are a clump, full
// in every forest: no copy within it is tried again, and if trees are missing in the end, clumps are the
// groups of the partition.
//
// Forests begin as trees grown breadth first from the middle of the network while copies last, one after the
// other: what is completed from nothing was twice as high (mesh:8x8 13 for 8 after an annealing of seconds).
#include "construct/exact/spanning_trees.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <random>

#include "graph/paths.h"
#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

struct Copy {
  int edge = 0;
  int forest = -1;  // in none yet
};

// Edges with their paths to the root, renewed after each change.
class Forest {
 public:
  Forest(int ranks, const std::vector<Edge>& edges)
      : edges_(edges), at_(ranks), root_(ranks), above_(ranks), depth_(ranks) {
    renew({});
  }

  // A search from each rank that no other has reached: root_ distinguishes the trees of the forest.
  void renew(const std::vector<std::pair<int, int>>& copies) {  // copy, edge
    for (std::vector<Half>& halves : at_) halves.clear();
    for (const auto& [copy, edge] : copies) {
      at_[edges_[edge].a].push_back({edges_[edge].b, copy});
      at_[edges_[edge].b].push_back({edges_[edge].a, copy});
    }
    std::ranges::fill(root_, -1);
    std::vector<Rank> queue;
    for (Rank r = 0; r < std::ssize(at_); ++r) {
      if (root_[r] >= 0) continue;
      root_[r] = r;
      above_[r] = {-1, -1};
      depth_[r] = 0;
      queue.assign(1, r);
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const Half& half : at_[queue[i]]) {
          if (root_[half.to] >= 0) continue;
          root_[half.to] = r;
          above_[half.to] = {queue[i], half.copy};
          depth_[half.to] = depth_[queue[i]] + 1;
          queue.push_back(half.to);
        }
    }
  }

  bool joins(const Edge& e) const { return root_[e.a] != root_[e.b]; }
  // Copies between the ends of e.
  template <typename Look>
  void walk(const Edge& e, const Look& look) const {
    for (Rank a = e.a, b = e.b; a != b;) {
      Rank& deeper = depth_[a] >= depth_[b] ? a : b;
      look(above_[deeper].copy);
      deeper = above_[deeper].to;
    }
  }

 private:
  struct Half {
    Rank to = -1;
    int copy = -1;
  };
  const std::vector<Edge>& edges_;
  std::vector<std::vector<Half>> at_;
  std::vector<Rank> root_;
  std::vector<Half> above_;
  std::vector<int> depth_;
};

// State: each copy is in one forest, or in none yet. clumps_ joins ranks between which no copy can be added
// to any forest.
class MatroidPacking {
 public:
  MatroidPacking(int ranks, const std::vector<Edge>& edges, int trees)
      : ranks_(ranks), edges_(edges), clumps_(ranks) {
    // More copies than trees are of no use: a tree has an edge once.
    for (std::size_t e = 0; e < edges.size(); ++e) {
      first_.push_back(static_cast<int>(copies_.size()));
      for (int n = 0; n < std::min(edges[e].copies, trees); ++n)
        copies_.push_back({.edge = static_cast<int>(e)});
    }
    for (int i = 0; i < trees; ++i) forests_.emplace_back(ranks, edges);
    members_.resize(trees);
  }

  TreePacking run() {
    begin();
    for (int c = 0; c < std::ssize(copies_); ++c)
      if (copies_[c].forest < 0) insert(c);
    TreePacking packing;
    const long long wanted = static_cast<long long>(forests_.size()) * (ranks_ - 1);
    const auto placed = std::ranges::count_if(copies_, [](const Copy& copy) { return copy.forest >= 0; });
    if (placed < wanted) {
      // Ends of what every tree can have are one group: its copies are as many as the crossings that are not
      // counted any more.
      for (const Edge& edge : edges_)
        if (edge.copies >= std::ssize(forests_)) clumps_.join(edge.a, edge.b);
      packing.group = clumps_.representatives();
      return packing;
    }
    packing.trees.resize(forests_.size());
    for (const Copy& copy : copies_)
      if (copy.forest >= 0) packing.trees[copy.forest].push_back(copy.edge);
    return packing;
  }

 private:
  // Breadth first from the middle, over edges with copies left, those with most first. Middles are the ranks
  // whose farthest rank is nearest; each is the root of as many forests as the others.
  void begin() {
    std::vector<std::vector<int>> at(ranks_);
    for (int e = 0; e < std::ssize(edges_); ++e) {
      at[edges_[e].a].push_back(e);
      at[edges_[e].b].push_back(e);
    }
    const auto other = [&](int e, Rank n) { return edges_[e].a == n ? edges_[e].b : edges_[e].a; };
    const std::vector<Rank> middle = middle_nodes(ranks_, [&](Rank n, const auto& reach) {
      for (int e : at[n]) reach(other(e, n));
    });
    std::vector<int> left;
    for (const Edge& edge : edges_)
      left.push_back(std::min<int>(edge.copies, static_cast<int>(forests_.size())));
    for (std::size_t i = 0; i < forests_.size(); ++i) {
      std::vector<bool> reached(ranks_, false);
      std::vector<Rank> queue = {middle[i * middle.size() / forests_.size()]};
      reached[queue.front()] = true;
      for (std::size_t k = 0; k < queue.size(); ++k) {
        std::vector<int> ways = at[queue[k]];
        std::ranges::stable_sort(ways, std::ranges::greater{}, [&](int e) { return left[e]; });
        for (int e : ways) {
          const Rank n = other(e, queue[k]);
          if (left[e] == 0 || reached[n]) continue;
          reached[n] = true;
          --left[e];
          put(first_[e] + left[e], static_cast<int>(i));
          queue.push_back(n);
        }
      }
      renew(static_cast<int>(i));
    }
  }

  void put(int copy, int forest) {
    copies_[copy].forest = forest;
    members_[forest].push_back(copy);
  }
  void renew(int forest) {
    std::vector<std::pair<int, int>> copies;
    for (int c : members_[forest]) copies.push_back({c, copies_[c].edge});
    forests_[forest].renew(copies);
  }

  // The copy itself, or others that move for it; or the clump that has no room for it.
  void insert(int start) {
    const auto together = clumps_.representatives();
    if (together[edges_[copies_[start].edge].a] == together[edges_[copies_[start].edge].b]) return;
    std::vector<int> parent(copies_.size(), kUnseen);
    std::vector<int> queue = {start};
    parent[start] = start;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const int c = queue[k];
      const int forest = (copies_[c].forest + 1) % static_cast<int>(forests_.size());
      const Edge& edge = edges_[copies_[c].edge];
      if (forests_[forest].joins(edge)) return move_up(c, forest, parent, start);
      forests_[forest].walk(edge, [&](int on_circle) {
        if (parent[on_circle] != kUnseen) return;
        parent[on_circle] = c;
        queue.push_back(on_circle);
      });
    }
    for (int c : queue) clumps_.join(edges_[copies_[c].edge].a, edges_[copies_[c].edge].b);
  }

  // Back along the search: each copy goes into the forest that the copy found from it has left, and the
  // start, which was in none, is placed last.
  void move_up(int c, int forest, const std::vector<int>& parent, int start) {
    for (int to = forest;;) {
      const int from = copies_[c].forest;
      if (from >= 0) std::erase(members_[from], c);
      put(c, to);
      if (c == start) {
        renew(to);
        return;
      }
      renew(to);
      c = parent[c];
      to = from;
    }
  }

  static constexpr int kUnseen = -1;
  const int ranks_;
  const std::vector<Edge>& edges_;
  DisjointSets clumps_;
  std::vector<int> first_ = {};  // copy of each edge
  std::vector<Copy> copies_ = {};
  std::vector<Forest> forests_ = {};
  std::vector<std::vector<int>> members_ = {};  // copies, by forest
};

}  // namespace

TreePacking pack_spanning_trees(int ranks, const std::vector<Edge>& edges, int trees) {
  assert(ranks > 0 && trees > 0);
  return MatroidPacking(ranks, edges, trees).run();
}

// Simulated annealing. A tree takes an edge and gives up one of the cycle that it closes; if no copy of the
// new edge is free, it comes from another tree, which takes the one given up, where that joins its two parts
// again. Packings without a free copy are what the weakest partition makes, so most moves are such exchanges.
//
// Packing alone leaves trees twice as high as necessary (mesh:8x8: 13 instead of 8): matroid union ignores
// heights.

namespace {

// Ranks examined, in all moves: some tenths of a second.
constexpr long long kMostVisits = 40'000'000;
constexpr long long kMostMoves = 200'000;
constexpr long long kMovesOfRank = 300;  // for each tree

class Annealing {
 public:
  Annealing(int ranks, const std::vector<Edge>& edges, std::vector<std::vector<int>> trees, unsigned seed)
      : ranks_(ranks),
        edges_(edges),
        random_(seed),
        at_(ranks),
        above_(ranks),
        over_(ranks),
        depth_(ranks),
        trees_(std::move(trees)) {
    free_.reserve(edges.size());
    for (const Edge& edge : edges) free_.push_back(edge.copies);
    for (const std::vector<int>& tree : trees_) {
      for (int e : tree) --free_[e];
      costs_.push_back(cost(tree));
    }
  }

  // The temperature falls linearly, in units of cost(), from 2 per rank to almost nothing. The best packing
  // that was met is returned.
  std::vector<std::vector<int>> run() {
    if (edges_.size() < 2 || trees_.empty() || ranks_ < 3) return std::move(trees_);
    best_ = trees_;
    long long total = 0;
    for (int c : costs_) total += c;
    long long least = total;
    const auto moves = static_cast<int>(
        std::min({kMostMoves, kMostVisits / (8LL * ranks_), kMovesOfRank * ranks_ * std::ssize(trees_)}));
    const double hot = 2.0 * ranks_;
    for (int move = 0; move < moves; ++move) {
      heat_ = hot * (1 - static_cast<double>(move) / moves) + 0.01;
      total += try_move();
      if (total < least) {
        least = total;
        best_ = trees_;
      }
    }
    return std::move(best_);
  }

  // The rank farthest from any rank is an end of a longest path, and the rank farthest from there its other
  // end; a root in the middle of that path gives the least height.
  TreeDepths measured(const std::vector<int>& tree) {
    hang(tree, 0);
    const Rank end = order_.back();
    hang_from(end);
    Rank middle = order_.back();
    for (int up = depth_[middle] / 2; up > 0; --up) middle = above_[middle];
    hang_from(middle);
    TreeDepths seen{.height = depth_[order_.back()]};
    for (Rank n = 0; n < ranks_; ++n) seen.depths += depth_[n];
    return seen;
  }

 private:
  struct Half {
    Rank to = 0;
    int edge = 0;
  };

  int below(std::size_t n) { return static_cast<int>(random_() % n); }

  // A hop of height counts as much as four hops of depth of every rank: heights decide, and depths show the
  // way to lower ones.
  int cost(const std::vector<int>& tree) {
    const TreeDepths s = measured(tree);
    return 4 * ranks_ * s.height + s.depths;
  }

  // One tree at a time is laid out (at_, above_, over_, depth_, order_); a move lays out the tree that it
  // changes.
  void hang(const std::vector<int>& tree, Rank root) {
    for (std::vector<Half>& halves : at_) halves.clear();
    for (int e : tree) {
      at_[edges_[e].a].push_back({edges_[e].b, e});
      at_[edges_[e].b].push_back({edges_[e].a, e});
    }
    hang_from(root);
  }
  // Breadth first, so order_ ends with a rank that is farthest from the root.
  void hang_from(Rank root) {
    order_.assign(1, root);
    above_[root] = -1;
    over_[root] = -1;
    depth_[root] = 0;
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const Half& half : at_[order_[i]])
        if (half.edge != over_[order_[i]]) {
          above_[half.to] = order_[i];
          over_[half.to] = half.edge;
          depth_[half.to] = depth_[order_[i]] + 1;
          order_.push_back(half.to);
        }
  }

  // Of a tree that hangs: its edges between the ends of e.
  std::vector<int> circle(int e) const {
    std::vector<int> edges;
    for (Rank a = edges_[e].a, b = edges_[e].b; a != b;) {
      Rank& deeper = depth_[a] >= depth_[b] ? a : b;
      edges.push_back(over_[deeper]);
      deeper = above_[deeper];
    }
    return edges;
  }

  static bool has(const std::vector<int>& tree, int e) { return std::ranges::find(tree, e) != tree.end(); }
  static std::vector<int> exchanged(std::vector<int> tree, int out, int in) {
    *std::ranges::find(tree, out) = in;
    return tree;
  }

  // By how much the cost changes. A random edge enters a random tree, and a random edge of the cycle leaves.
  // If another tree has to give its copy up, it takes the edge that leaves, which must close the gap there.
  int try_move() {
    const int i = below(trees_.size());
    const int in = below(edges_.size());
    if (edges_[in].copies == 0 || has(trees_[i], in)) return 0;
    hang(trees_[i], 0);
    const std::vector<int> ways_out = circle(in);
    const int out = ways_out[below(ways_out.size())];
    std::vector<int> mine = exchanged(trees_[i], out, in);
    if (free_[in] > 0) {
      const int now = cost(mine), change = now - costs_[i];
      if (!accepted(change)) return 0;
      --free_[in];
      ++free_[out];
      put(i, std::move(mine), now);
      return change;
    }
    const int j = below(trees_.size());
    if (j == i || !has(trees_[j], in) || has(trees_[j], out)) return 0;
    hang(trees_[j], 0);
    if (!has(circle(out), in)) return 0;
    std::vector<int> theirs = exchanged(trees_[j], in, out);
    const int now_mine = cost(mine), now_theirs = cost(theirs);
    const int change = now_mine - costs_[i] + now_theirs - costs_[j];
    if (!accepted(change)) return 0;
    put(i, std::move(mine), now_mine);
    put(j, std::move(theirs), now_theirs);
    return change;
  }

  // A move that costs more is made with the probability exp(-change / heat) (Metropolis).
  bool accepted(int change) {
    if (change <= 0) return true;
    const double u = (static_cast<double>(random_() >> 8) + 1) / (1 << 24);
    return change < -heat_ * std::log(u);
  }

  void put(int i, std::vector<int> tree, int cost) {
    trees_[i] = std::move(tree);
    costs_[i] = cost;
  }

  const int ranks_;
  const std::vector<Edge>& edges_;
  std::mt19937 random_;
  double heat_ = 0;
  std::vector<std::vector<Half>> at_;  // of the tree that hangs
  std::vector<Rank> above_;
  std::vector<int> over_;  // edge to the rank above
  std::vector<int> depth_;
  std::vector<Rank> order_ = {};
  std::vector<std::vector<int>> trees_;
  std::vector<int> costs_ = {};
  std::vector<int> free_ = {};  // copies of an edge that are in no tree
  std::vector<std::vector<int>> best_ = {};
};

}  // namespace

std::vector<std::vector<int>> lowered(int ranks, const std::vector<Edge>& edges,
                                      std::vector<std::vector<int>> trees, unsigned seed) {
  return Annealing(ranks, edges, std::move(trees), seed).run();
}

TreeDepths depths_of(int ranks, const std::vector<Edge>& edges, const std::vector<int>& tree) {
  return Annealing(ranks, edges, {}, 1).measured(tree);
}

}  // namespace chorale
