#include "construct/timed_tree.h"

#include <algorithm>
#include <tuple>

namespace chorale {

void TimedPrices::dearer_later(double by, TimedPrices& into) const {
  into.steps_ = steps_;
  into.of_.resize(of_.size());
  for (std::size_t first = 0; first < of_.size(); first += steps_)
    for (int s = 0; s < steps_; ++s) into.of_[first + s] = of_[first + s] * (1 + by * s);
}

TimedTree::Roads::Roads(const Topology& topology, bool turned) : first(topology.ranks + 1, 0) {
  for (const Link& link : topology.links) to.push_back(turned ? link.src : link.dst);
  const auto from = [&](const Link& link) { return turned ? link.dst : link.src; };
  for (const Link& link : topology.links) ++first[from(link) + 1];
  for (Rank n = 0; n < topology.ranks; ++n) first[n + 1] += first[n];
  all.resize(topology.links.size());
  std::vector<int> next = first;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
    const Link& link = topology.links[l];
    all[next[from(link)]++] = {.link = l, .to = turned ? link.src : link.dst};
  }
}

bool TimedTree::Offer::operator<(const Offer& other) const {
  return std::tuple(cost, layer, rank) > std::tuple(other.cost, other.layer, other.rank);
}

std::optional<double> TimedTree::grow(const RankSet& roots, const RankSet& targets, int start, int layers,
                                      bool backwards, const TimedPrices& prices, std::vector<Way>& ways) {
  layers_ = layers;
  roads_ = backwards ? &backwards_ : &forwards_;
  prices_ = &prices;
  turned_ = backwards;
  start_ = backwards ? start - 1 : start;
  const auto places = static_cast<std::size_t>(layers + 1) * ranks_;
  cost_.assign(places, kDearest);
  by_.assign(places, {});
  reached_.assign(ranks_, false);
  offers_ = {};
  ways.assign(ranks_, {});
  wanted_.assign(ranks_, false);
  int missing = 0;
  for (const Rank n : targets) {
    missing += wanted_[n] ? 0 : 1;
    wanted_[n] = true;
  }
  const auto take = [&](Rank n, int layer) {
    missing -= wanted_[n] && !reached_[n] ? 1 : 0;
    reached_[n] = true;
    spread(n, layer, lower(n, layer, 0));
  };
  for (Rank root : roots) take(root, 0);
  while (missing > 0) {
    if (offers_.empty()) return std::nullopt;
    const Offer offer = offers_.top();
    offers_.pop();
    if (is_stale(offer)) continue;
    if (reached_[offer.rank] || !wanted_[offer.rank]) {
      spread(offer.rank, offer.layer, layers);
      continue;
    }
    path_.clear();
    Rank next = offer.rank;
    for (int layer = offer.layer; cost_[at(next, layer)] > 0; --layer) {
      const Arrival by = by_[at(next, layer)];
      if (by.link < 0) continue;
      ways[next] = {.link = by.link, .layer = layer - 1};
      path_.push_back({next, layer});
      next = by.from;
    }
    for (const auto& [n, layer] : path_) take(n, layer);
  }
  prune(ways);
  double sum = 0;
  for (const Way& way : ways)
    if (way.link >= 0) sum += price(way.link, way.layer);
  return sum;
}

// A relay whose target was reached over others since has nothing to pass on.
void TimedTree::prune(std::vector<Way>& ways) const {
  const auto above = [&](Rank n) {
    return turned_ ? forwards_.to[ways[n].link] : backwards_.to[ways[n].link];
  };
  std::vector<int> below(ranks_, 0);
  for (Rank n = 0; n < ranks_; ++n)
    if (ways[n].link >= 0) ++below[above(n)];
  for (Rank first = 0; first < ranks_; ++first)
    for (Rank n = first; !wanted_[n] && below[n] == 0 && ways[n].link >= 0;) {
      const Rank next = above(n);
      ways[n] = {};
      --below[next];
      n = next;
    }
}

// Something was cheaper since, or as cheap and earlier.
bool TimedTree::is_stale(const Offer& offer) const {
  const double* const cost = &cost_[at(offer.rank, 0)];
  return cost[offer.layer] < offer.cost || cost[offer.layer - 1] <= offer.cost;
}

// From a layer on, until one where it is as cheap anyhow; which is that?
int TimedTree::lower(Rank n, int layer, double cost) {
  for (; layer <= layers_ && cost_[at(n, layer)] > cost; ++layer) {
    cost_[at(n, layer)] = cost;
    by_[at(n, layer)] = {};
  }
  return layer;
}

// Whoever has it there may send it on, in that layer or later ones before `most`, as long as having it costs
// the same.
void TimedTree::spread(Rank n, int layer, int most) {
  const double* const cost = &cost_[at(n, 0)];
  int end = layer;
  while (end < std::min(most, layers_) && cost[end] == cost[layer]) ++end;
  for (int r = roads_->first[n]; r < roads_->first[n + 1]; ++r) {
    const auto [link, to] = roads_->all[r];
    double* const there = &cost_[at(to, 0)];
    if (there[layer + 1] <= cost[layer]) continue;
    looks_ += end - layer;
    for (int s = layer; s < end; ++s) {
      const double with = cost[layer] + price(link, s);
      if (with >= there[s + 1]) continue;
      lower(to, s + 1, with);
      by_[at(to, s + 1)] = {.link = link, .from = n};
      offers_.push({.cost = with, .layer = s + 1, .rank = to});
    }
  }
}

}  // namespace chorale
