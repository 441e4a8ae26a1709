// cost_ has for each rank and layer the least price at which it may have the chunk by then, which never
// rises with the layer, since a rank keeps what it has. So an offer stands for all later layers of equal
// cost, and a rank offers its links from its layer on until it is cheaper to have come later. What the tree
// has reached costs 0, and the search goes on from there instead of starting anew for each target.
#include "construct/timed_tree.h"

#include <algorithm>

namespace chorale {

// Links by the rank that they leave, in compressed rows; reversed, by the rank that they enter.
TimedTree::Arcs::Arcs(const Topology& topology, bool reversed) : first(topology.ranks + 1, 0) {
  for (const Link& link : topology.links) from.push_back(reversed ? link.dst : link.src);
  for (const Rank n : from) ++first[n + 1];
  for (Rank n = 0; n < topology.ranks; ++n) first[n + 1] += first[n];
  all.resize(topology.links.size());
  std::vector<int> next = first;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    all[next[from[l]]++] = {.link = l, .to = reversed ? topology.links[l].src : topology.links[l].dst};
}

// The order of equal costs is fixed, so that a tree does not depend on the heap.
bool TimedTree::Offer::operator<(const Offer& other) const {
  if (cost != other.cost) return cost > other.cost;
  return std::pair(layer, rank) > std::pair(other.layer, other.rank);
}

// Dijkstra over pairs of rank and layer. From a wanted rank the path is read back to where the cost is 0,
// that is, to the tree; an arrival without a link means that the rank had the chunk a layer before. All ranks
// of the path are then at cost 0 from their layers on, and the search goes on.
std::optional<double> TimedTree::grow(const Question& question, const TimedLoad& load, TimedSends& sends) {
  asked_ = &question;
  load_ = &load;
  arcs_ = question.backwards ? &backwards_ : &forwards_;
  layers_ = question.layers;
  tilt_.clear();
  for (int layer = 0; layer < layers_; ++layer) tilt_.push_back(1 + question.tilt * layer);
  const auto places = static_cast<std::size_t>(layers_ + 1) * ranks_;
  cost_.assign(places, kInfinitePrice);
  by_.assign(places, {});
  reached_.assign(ranks_, false);
  offers_.clear();
  entries_.assign(ranks_, {});
  wanted_.assign(ranks_, false);
  int missing = 0;
  for (const Rank n : *question.targets) {
    missing += wanted_[n] ? 0 : 1;
    wanted_[n] = true;
  }
  const auto reach = [&](Rank n) {
    missing -= wanted_[n] && !reached_[n] ? 1 : 0;
    reached_[n] = true;
  };
  for (const Rank root : *question.roots) {
    reach(root);
    spread(root, 0, lower(root, 0, 0));
  }
  while (missing > 0) {
    if (offers_.empty()) return std::nullopt;
    std::pop_heap(offers_.begin(), offers_.end());
    const Offer offer = offers_.back();
    offers_.pop_back();
    if (is_stale(offer)) continue;
    if (reached_[offer.rank] || !wanted_[offer.rank]) {
      spread(offer.rank, offer.layer, layers_);
      continue;
    }
    path_.clear();
    Rank next = offer.rank;
    for (int layer = offer.layer; cost_[at(next, layer)] > 0; --layer) {
      const Arrival by = by_[at(next, layer)];
      if (by.link < 0) continue;
      entries_[next] = {.link = by.link, .layer = layer - 1};
      path_.push_back({next, layer});
      next = by.from;
    }
    for (const auto& [n, layer] : path_) reach(n);
    if (missing > 0)
      for (const auto& [n, layer] : path_) spread(n, layer, lower(n, layer, 0));
  }
  prune();
  double sum = 0;
  for (const Entry& entry : entries_)
    if (entry.link >= 0) {
      const int s = step(entry.layer);
      sends.push_back({.step = s, .link = entry.link, .reduce = question.backwards});
      sum += load.price(entry.link, s);
    }
  return sum;
}

// A relay whose target was reached over others since has nothing to pass on.
void TimedTree::prune() {
  const auto above = [&](Rank n) { return arcs_->from[entries_[n].link]; };
  below_.assign(ranks_, 0);
  for (Rank n = 0; n < ranks_; ++n)
    if (entries_[n].link >= 0) ++below_[above(n)];
  for (Rank first = 0; first < ranks_; ++first)
    for (Rank n = first; !wanted_[n] && below_[n] == 0 && entries_[n].link >= 0;) {
      const Rank next = above(n);
      entries_[n] = {};
      --below_[next];
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

// A rank that has it in a layer may send it on, then or later before `most`, as long as having it costs the
// same.
void TimedTree::spread(Rank n, int layer, int most) {
  const double* const cost = &cost_[at(n, 0)];
  int end = layer;
  while (end < std::min(most, layers_) && cost[end] == cost[layer]) ++end;
  if (end == layer) return;
  for (int r = arcs_->first[n]; r < arcs_->first[n + 1]; ++r) {
    const auto [link, to] = arcs_->all[r];
    double* const there = &cost_[at(to, 0)];
    if (there[layer + 1] <= cost[layer]) continue;
    int last = end;
    if (asked_->hops != nullptr) {
      const int left = (*asked_->hops)[to];
      last = left < 0 ? layer : std::min(end, layers_ - left);
    }
    work_ += std::max(0, last - layer);
    for (int s = layer; s < last; ++s) {
      const double with = cost[layer] + load_->price(link, step(s)) * tilt_[s];
      if (with >= there[s + 1]) continue;
      lower(to, s + 1, with);
      by_[at(to, s + 1)] = {.link = link, .from = n};
      offers_.push_back({.cost = with, .layer = s + 1, .rank = to});
      std::push_heap(offers_.begin(), offers_.end());
    }
  }
}

}  // namespace chorale
