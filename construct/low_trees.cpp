// Simulated annealing. A tree takes an edge and gives up one of the cycle that it closes; if no copy of the
// new edge is free, it comes from another tree, which takes the one given up, where that joins its two parts
// again. Packings without a free copy are what the weakest partition makes, so most moves are such exchanges.
//
// Packing alone leaves trees twice as high as necessary (mesh:8x8: 13 instead of 8): matroid union ignores
// heights.
#include "construct/low_trees.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace chorale {
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
