// On links of equal width in both directions, a chunk that goes up a tree as partial sums and down again as
// the complete sum loads each of the tree's edges once in each direction, whatever the root: so trees that
// fit side by side as undirected edges do as links, and no trees have fewer rounds than the weakest partition
// asks for. Trees are made for as few chunks as have the same rate, and used again for the others.
//
// The root of a tree is its middle: random roots lost. What the engine packs at prices needs more rounds
// where trees are many and all links are full: mesh:16x16 1.27 of the bound, and 1.03 from here.
//
// What lost: matroid union (Roskind and Tarjan 1985), which is exact: on 31 random undirected machines it had
// the same rounds at each of 16 chunk counts, in 25 times the time. And trees made low by annealing: 3 %
// fewer rounds within as many steps, and nothing in time from 4 KiB to 64 MiB.
#include "construct/exact/tree_union.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <random>
#include <tuple>
#include <utility>

#include "graph/paths.h"

namespace chorale {

// Tree by tree, each the cheapest at prices that rise steeply with what the others load an edge with, again
// and again, as prices sharpen (fractional packing by exponential prices: Plotkin, Shmoys and Tardos 1995;
// here trees stay integral). A tree grows as Prim's do, but deeper edges are slightly more expensive, or
// trees in the end are cheap and ten times as high.

namespace {

// Of each tree; the sharpness of prices, in trees by copies, in the first and in the last.
constexpr int kTurns = 40;
constexpr double kFirstSharpness = 0.3, kLastSharpness = 6;
// What a level costs, of an edge that is as full as the average.
constexpr double kDeeper = 0.02;
constexpr double kWarmer = 0.3;  // what was too full for an iteration stays more expensive

// One tree at a time is taken out and grown again, at the prices that the others leave.
class TreeSpreading {
 public:
  TreeSpreading(int ranks, const std::vector<Edge>& edges, int trees)
      : ranks_(ranks),
        edges_(edges),
        at_(ranks),
        load_(edges.size(), 0),
        history_(edges.size(), 1),
        trees_(trees) {
    for (int e = 0; e < std::ssize(edges); ++e) {
      at_[edges[e].a].push_back({edges[e].b, e});
      at_[edges[e].b].push_back({edges[e].a, e});
      copies_ += edges[e].copies;
    }
    middle_ = middle_nodes(ranks_, [&](Rank n, const auto& reach) {
      for (const Half& half : at_[n]) reach(half.to);
    });
  }

  // Until the fullest edge is as full as edges are on average, rounded up, which no trees can beat. Edges
  // that need as many rounds as the best trees so far cost more in all later iterations.
  SpreadTrees run() {
    SpreadTrees best{.rounds = std::numeric_limits<int>::max()};
    std::vector<int> order(trees_.size());
    std::iota(order.begin(), order.end(), 0);
    const int least = static_cast<int>((std::ssize(trees_) * (ranks_ - 1) + copies_ - 1) / copies_);
    for (int turn = 0; turn < kTurns && best.rounds > least; ++turn) {
      sharpness_ = kFirstSharpness *
                   std::pow(kLastSharpness / kFirstSharpness, static_cast<double>(turn) / (kTurns - 1));
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
      for (int t : order) {
        change(trees_[t], -1);
        grow(middle_[static_cast<std::size_t>(t) * middle_.size() / trees_.size()], trees_[t]);
        change(trees_[t], 1);
      }
      int rounds = 0;
      for (int e = 0; e < std::ssize(edges_); ++e) rounds = std::max(rounds, rounds_of(e));
      if (rounds < best.rounds) best = {.rounds = rounds, .trees = trees_};
      for (int e = 0; e < std::ssize(edges_); ++e)
        if (rounds_of(e) >= best.rounds) history_[e] *= 1 + kWarmer;
    }
    return best;
  }

 private:
  struct Half {
    Rank to = 0;
    int edge = 0;
  };

  int rounds_of(int e) const { return (load_[e] + edges_[e].copies - 1) / edges_[e].copies; }
  void change(const std::vector<int>& tree, int by) {
    for (int e : tree) load_[e] += by;
  }

  // Prim's algorithm, from the root of that tree. An edge's price is exponential in how much fuller than the
  // average it would be with this tree.
  void grow(Rank root, std::vector<int>& tree) {
    tree.clear();
    const double average =
        static_cast<double>(std::ssize(trees_)) * (ranks_ - 1) / static_cast<double>(copies_);
    price_.clear();
    for (int e = 0; e < std::ssize(edges_); ++e) {
      const double full = static_cast<double>(load_[e] + 1) / edges_[e].copies;
      price_.push_back(history_[e] * std::exp(sharpness_ * (full - average)));
    }
    using Offer = std::tuple<double, int, Rank, int>;  // price, edge, where to, depth
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
    std::vector<bool> reached(ranks_, false);
    const auto reach = [&](Rank n, int depth) {
      reached[n] = true;
      for (const Half& half : at_[n])
        if (!reached[half.to])
          offers.push({price_[half.edge] + kDeeper * depth, half.edge, half.to, depth + 1});
    };
    reach(root, 0);
    while (!offers.empty()) {
      const auto [price, edge, to, depth] = offers.top();
      offers.pop();
      if (reached[to]) continue;
      tree.push_back(edge);
      reach(to, depth);
    }
  }

  const int ranks_;
  const std::vector<Edge>& edges_;
  std::vector<std::vector<Half>> at_;
  long long copies_ = 0;
  std::vector<Rank> middle_ = {};
  std::vector<int> load_;
  std::vector<double> history_, price_ = {};
  double sharpness_ = 0;
  std::vector<std::vector<int>> trees_;
  std::mt19937 random_{1};
};

constexpr int kMaxTreeRanks = 1 << 15;  // trees times ranks: some tenths of a second

// Pairs of ranks with the bandwidth between them, equal in both directions.
std::optional<std::vector<Edge>> undirected(const Topology& topology) {
  if (!topology.limits.empty()) return std::nullopt;
  std::map<std::pair<Rank, Rank>, int> wide;
  for (const Link& link : topology.links) wide[{link.src, link.dst}] += link.bandwidth;
  std::vector<Edge> edges;
  for (const auto& [ends, bandwidth] : wide) {
    const auto back = wide.find({ends.second, ends.first});
    if (back == wide.end() || back->second != bandwidth) return std::nullopt;
    if (ends.first < ends.second) edges.push_back({.a = ends.first, .b = ends.second, .copies = bandwidth});
  }
  return edges;
}

// A tree rooted at a rank: the parent of each rank, and the ranks in order from the root.
struct Hanging {
  std::vector<Rank> above = {};
  std::vector<int> depth = {};
  std::vector<Rank> order = {};
};

Hanging hung_from(Rank root, const std::vector<std::vector<Rank>>& next) {
  const std::size_t ranks = next.size();
  Hanging tree{.above = std::vector<Rank>(ranks, -1), .depth = std::vector<int>(ranks, 0), .order = {root}};
  for (std::size_t i = 0; i < tree.order.size(); ++i)
    for (Rank n : next[tree.order[i]])
      if (n != tree.above[tree.order[i]]) {
        tree.above[n] = tree.order[i];
        tree.depth[n] = tree.depth[tree.order[i]] + 1;
        tree.order.push_back(n);
      }
  return tree;
}

// Links between two ranks, and how many more trees each of them takes.
struct Lane {
  LinkId link = 0;
  long long room = 0;
};
using Lanes = std::map<std::pair<Rank, Rank>, std::vector<Lane>>;

LinkId take_lane(Lanes& lanes, Rank from, Rank to) {
  Lane& widest = *std::ranges::max_element(lanes.at({from, to}), {}, &Lane::room);
  --widest.room;
  return widest.link;
}

// Up to the middle of its longest path, and down again.
ChunkTree from_middle(int ranks, const std::vector<Edge>& edges, const std::vector<int>& tree, Lanes& lanes) {
  std::vector<std::vector<Rank>> next(ranks);
  for (int e : tree) {
    next[edges[e].a].push_back(edges[e].b);
    next[edges[e].b].push_back(edges[e].a);
  }
  const Hanging from_end = hung_from(hung_from(0, next).order.back(), next);
  Rank middle = from_end.order.back();
  for (int up = from_end.depth[middle] / 2; up > 0; --up) middle = from_end.above[middle];
  const Hanging hung = hung_from(middle, next);
  ChunkTree both{.ups = ranks - 1};
  for (auto n = hung.order.rbegin(); *n != middle; ++n)
    both.links.push_back(take_lane(lanes, *n, hung.above[*n]));
  for (const Rank n : hung.order)
    if (n != middle) both.links.push_back(take_lane(lanes, hung.above[n], n));
  return both;
}

}  // namespace

SpreadTrees spread_spanning_trees(int ranks, const std::vector<Edge>& edges, int trees) {
  return TreeSpreading(ranks, edges, trees).run();
}

std::optional<SumTrees> sum_trees(const Topology& topology, int chunks) {
  if (topology.ranks < 2 || !all_reach_all(topology)) return std::nullopt;
  const std::optional<std::vector<Edge>> edges = undirected(topology);
  if (!edges || topology.ranks > kMaxTreeRanks) return std::nullopt;
  long long copies = 0;
  for (const Edge& edge : *edges) copies += edge.copies;
  const auto least = [&](long long trees) {  // rounds, if all edges are full
    return static_cast<int>((trees * (topology.ranks - 1) + copies - 1) / copies);
  };
  // The fewest different trees: where a divisor of the chunks needs no more rounds than its share, each of
  // its trees is that of several chunks.
  SumTrees packed{.rounds = std::numeric_limits<int>::max(), .edges = *edges};
  SpreadTrees best;
  for (int tried = 1; tried <= std::min(chunks, kMaxTreeRanks / topology.ranks); ++tried) {
    if (packed.rounds == least(chunks)) break;
    const int each = chunks / tried;
    if (chunks % tried != 0 || least(tried) * each >= packed.rounds) continue;
    SpreadTrees found = spread_spanning_trees(topology.ranks, *edges, tried);
    if (found.rounds * each >= packed.rounds) continue;
    packed.rounds = found.rounds * each;
    packed.different = tried;
    best = std::move(found);
  }
  for (Edge& edge : packed.edges) edge.copies *= packed.rounds;
  for (int c = 0; c < chunks; ++c) packed.trees.push_back(best.trees[c % packed.different]);
  return packed;
}

std::optional<ChunkPacking> tree_union(const Topology& topology, int chunks) {
  const std::optional<SumTrees> packed = sum_trees(topology, chunks);
  if (!packed) return std::nullopt;
  const int rounds = packed->rounds / (chunks / packed->different);
  Lanes lanes;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
    const Link& link = topology.links[l];
    lanes[{link.src, link.dst}].push_back({.link = l, .room = 1LL * rounds * link.bandwidth});
  }
  ChunkPacking packing{.chunks = packed->different, .trees = {{}}};
  for (int i = 0; i < packed->different; ++i)
    packing.trees.front().push_back(from_middle(topology.ranks, packed->edges, packed->trees[i], lanes));
  return packing;
}

}  // namespace chorale
