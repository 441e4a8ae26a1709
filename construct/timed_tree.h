// One tree in time: what goes from some ranks to all, each link in a step.
#pragma once

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// Grows one tree away from a rank: whoever is cheapest to reach is joined by its cheapest way, and all of the tree is where the next
// way may begin (as Takahashi and Matsuyama 1980 have it). Backwards: time and links are turned round.
//
// Invariant: a rank is reached once. A way that passes a rank before it was reached becomes its way; the one that it had is
// given up, or a contribution would be counted twice.
class TimedTree {
 public:
  static constexpr double kDearest = std::numeric_limits<double>::infinity();

  struct Way {
    LinkId link = -1;
    int layer = 0;  // that it is gone in
  };

  explicit TimedTree(const Topology& topology)
      : topology_(topology), out_of_(topology.ranks), into_(topology.ranks) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
      out_of_[topology.links[l].src].push_back(l);
      into_[topology.links[l].dst].push_back(l);
    }
  }

  // From ranks that have it. By rank how it is reached, and what all ways cost; nothing where some rank is out of reach.
  template <typename Price>
  std::optional<double> grow(const RankSet& roots, int layers, bool backwards, const Price& price,
                             std::vector<Way>& ways) {
    layers_ = layers;
    const auto places = static_cast<std::size_t>(layers + 1) * topology_.ranks;
    cost_.assign(places, kDearest);
    by_.assign(places, -1);
    changed_.assign(layers + 1, {});
    is_changed_.assign(places, false);
    reached_.assign(topology_.ranks, false);
    missing_ = topology_.ranks;
    ways.assign(topology_.ranks, {});
    for (Rank root : roots) take(root, 0);
    while (missing_ > 0) {
      spread(backwards, price);
      Rank next = -1;
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (!reached_[n] && (next < 0 || cost_[at(layers, n)] < cost_[at(layers, next)])) next = n;
      if (cost_[at(layers, next)] == kDearest) return std::nullopt;
      for (int layer = layers; cost_[at(layer, next)] > 0; --layer) {
        const LinkId l = by_[at(layer, next)];
        if (l < 0) continue;
        ways[next] = {.link = l, .layer = layer - 1};
        path_.push_back({next, layer});
        next = backwards ? topology_.links[l].dst : topology_.links[l].src;
      }
      for (const auto& [n, layer] : path_) take(n, layer);
      path_.clear();
    }
    double sum = 0;
    for (const Way& way : ways)
      if (way.link >= 0) sum += price(way.link, way.layer);
    return sum;
  }

  long long looks() const { return looks_; }

 private:
  std::size_t at(int layer, Rank n) const { return static_cast<std::size_t>(layer) * topology_.ranks + n; }

  void take(Rank n, int layer) {
    missing_ -= reached_[n] ? 0 : 1;
    reached_[n] = true;
    for (int s = layer; s <= layers_ && cost_[at(s, n)] > 0; ++s) set(s, n, 0, -1);
  }
  void set(int layer, Rank n, double cost, LinkId by) {
    cost_[at(layer, n)] = cost;
    by_[at(layer, n)] = by;
    if (is_changed_[at(layer, n)]) return;
    is_changed_[at(layer, n)] = true;
    changed_[layer].push_back(n);
  }

  // What has become cheaper makes others cheaper.
  template <typename Price>
  void spread(bool backwards, const Price& price) {
    for (int s = 0; s <= layers_; ++s) {
      for (std::size_t i = 0; i < changed_[s].size(); ++i) {
        const Rank u = changed_[s][i];
        is_changed_[at(s, u)] = false;
        if (s == layers_) continue;
        const double cost = cost_[at(s, u)];
        if (cost < cost_[at(s + 1, u)]) set(s + 1, u, cost, -1);
        for (LinkId l : backwards ? into_[u] : out_of_[u]) {
          ++looks_;
          const Rank v = backwards ? topology_.links[l].src : topology_.links[l].dst;
          if (const double with = cost + price(l, s); with < cost_[at(s + 1, v)]) set(s + 1, v, with, l);
        }
      }
      changed_[s].clear();
    }
  }

  const Topology& topology_;
  std::vector<std::vector<LinkId>> out_of_, into_;
  int layers_ = 0;
  long long looks_ = 0;
  std::vector<double> cost_ = {};  // by layer and rank
  std::vector<LinkId> by_ = {};    // over which link, or -1: it was there before
  std::vector<std::vector<Rank>> changed_ = {};
  std::vector<char> is_changed_ = {};
  std::vector<char> reached_ = {};
  int missing_ = 0;
  std::vector<std::pair<Rank, int>> path_ = {};
};

}  // namespace chorale
