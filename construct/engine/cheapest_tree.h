// The engine's oracle: how one chunk of a class should travel at given prices of links.
#pragma once

#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "construct/engine/network.h"
#include "graph/arborescence.h"
#include "ir/collective.h"

namespace chorale {

// The links that one chunk takes. The first `ups` sum its contributions up at one rank, each link out of a
// rank after all links into it; the others copy it from there (of a sum with several destinations), or from
// where it starts (of a copy), each after the one into its source.
struct ChunkTree {
  std::vector<LinkId> links = {};
  int ups = 0;
};

// Grows trees over links at prices >= 0: the cheapest target to reach is joined by its cheapest path, and the
// next path may begin anywhere on the tree (Takahashi and Matsuyama 1980; where every rank is a target this
// is Prim's algorithm on a directed graph). One Dijkstra search does all of a tree. Two further costs keep
// trees shallow: a path that begins at depth d of the tree costs d * per_hop, and each of its links per_hop.
// Where hops cost nothing and every rank is a target the tree is the cheapest that there is
// (graph/arborescence.h): near the optimum the greedy one is not cheap enough, and a packing for
// AllReduce on random graphs stays 1.6 % above it.
class CheapestTree {
 public:
  explicit CheapestTree(const Network&);

  // Returns a tree for chunks of the class: a path if there is one target; for a sum, the best of several
  // roots. Its cost is the sum of its links' prices; a negative cost means that a target cannot be reached,
  // and the tree is invalid. `random` picks the roots to try.
  template <class Random>
  double grow(const ChunkClass&, bool sum, std::span<const double> prices, double per_hop, Random& random,
              ChunkTree&);

  // Cheapest paths from a set of ranks to all others; path() reads them off.
  void search_paths(const RankSet& sources, std::span<const double> prices, double per_hop);
  bool path(Rank target, ChunkTree&) const;

  // Work so far, in links examined.
  long long relaxations() const { return relaxations_; }

 private:
  using Offer = std::pair<double, Rank>;

  double span(const RankSet& sources, const RankSet& targets, bool backwards, std::span<const double> prices,
              double per_hop, std::vector<LinkId>& links);
  double span_exactly(const RankSet& sources, bool backwards, std::span<const double> prices,
                      std::vector<LinkId>& links);
  double through(Rank root, const ChunkClass&, std::span<const double> prices, double per_hop, ChunkTree&);
  double through_any(std::span<const double> prices, ChunkTree&);
  void contract(const RankSet& sources, bool backwards, std::span<const double> prices);
  double append(Rank root, bool backwards, std::span<const double> prices, std::vector<LinkId>& links);
  void start(const RankSet& sources);
  void relax(Rank, double base, bool backwards, std::span<const double> prices, double per_hop);

  const Network& network_;
  std::vector<double> cost_ = {};  // by rank: of the cheapest path known from the tree
  std::vector<LinkId> via_ = {};   // its last link
  std::vector<int> depth_ = {};    // by rank of the tree
  std::vector<char> in_tree_ = {}, wanted_ = {};
  std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers_ = {};
  std::vector<Rank> path_ = {};
  struct Exact {
    std::vector<WeightedArc> arcs = {};
    std::vector<LinkId> link_of = {};  // [arc]
    Arborescences trees = {};
  };
  Exact exact_[2] = {};                          // forwards, backwards
  std::vector<int> into_ = {};                   // arcs
  std::vector<std::vector<LinkId>> below_ = {};  // by rank, links of an exact tree
  long long relaxations_ = 0;
  static constexpr int kRoots = 4;  // of a sum; the best of 4 is within 0.5 % of the best of all
};

template <class Random>
double CheapestTree::grow(const ChunkClass& chunks, bool sum, std::span<const double> prices, double per_hop,
                          Random& random, ChunkTree& tree) {
  tree.links.clear();
  tree.ups = 0;
  if (!sum) return span(chunks.pre, chunks.post, false, prices, per_hop, tree.links);
  if (chunks.post.size() == 1) return through(chunks.post.front(), chunks, prices, per_hop, tree);
  const auto everywhere = [&](const RankSet& set) {
    return static_cast<int>(set.size()) == network_.ranks();
  };
  if (per_hop == 0 && everywhere(chunks.pre) && everywhere(chunks.post)) return through_any(prices, tree);
  double least = -1;
  ChunkTree other;
  for (int i = 0; i < kRoots; ++i) {
    // Ranks of the class, and, where they are few, any rank of the machine now and then.
    const bool inside = i < kRoots - 1 || static_cast<int>(chunks.post.size()) == network_.ranks();
    const Rank root =
        inside ? chunks.post[random() % chunks.post.size()] : static_cast<Rank>(random() % network_.ranks());
    const double cost = through(root, chunks, prices, per_hop, other);
    if (cost < 0 || (least >= 0 && cost >= least)) continue;
    least = cost;
    std::swap(tree, other);
  }
  return least;
}

}  // namespace chorale
