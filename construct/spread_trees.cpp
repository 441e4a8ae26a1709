// Tree by tree, each the cheapest at prices that rise steeply with what the others load an edge with, again
// and again, as prices sharpen (fractional packing by exponential prices: Plotkin, Shmoys and Tardos 1995;
// here trees stay integral). A tree grows as Prim's do, but deeper edges are slightly more expensive, or
// trees in the end are cheap and ten times as high.
#include "construct/spread_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <random>
#include <tuple>

namespace chorale {
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
    find_middle();
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

  // Ranks of the least eccentricity.
  void find_middle() {
    int least = ranks_;
    for (Rank r = 0; r < ranks_; ++r) {
      std::vector<int> distance(ranks_, -1);
      distance[r] = 0;
      std::vector<Rank> queue = {r};
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const Half& half : at_[queue[i]])
          if (distance[half.to] < 0) {
            distance[half.to] = distance[queue[i]] + 1;
            queue.push_back(half.to);
          }
      const int far = distance[queue.back()];
      if (far < least) middle_.clear();
      least = std::min(least, far);
      if (far == least) middle_.push_back(r);
    }
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

}  // namespace

SpreadTrees spread_spanning_trees(int ranks, const std::vector<Edge>& edges, int trees) {
  return TreeSpreading(ranks, edges, trees).run();
}

}  // namespace chorale
