// Smooth weights are relative to the fullest bin of a step: all are computed anew only where that changes.
// Negotiated bases rise by the share of the capacity that is over, so that narrow links and wide ones count
// alike. Rounds move between steps since the first and last steps of some machines carry less than those
// between.
#include "construct/engine/timed_load.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace chorale {
namespace {

constexpr double kHistory = 0.3;
constexpr double kMinPressure = 0.5, kPressureFactor = 1.15, kMaxPressure = 1e6;
constexpr double kLeastPrice = 1e-7;  // smooth: what is free is not wasted, and a tree ends
constexpr int kMostTreeSweeps = 2;    // of the improvement of a tree
constexpr double kLeastGain = 1e-9;   // of a price

}  // namespace

TimedLoad::TimedLoad(const Topology& topology, const LinkOrbits& orbits, int steps)
    : orbits_(orbits),
      steps_(steps),
      slots_(orbits.capacities().size() * steps),
      prices_(slots_.size()),
      first_{0} {
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
    shares_.insert(shares_.end(), orbits.shares(l).begin(), orbits.shares(l).end());
    first_.push_back(static_cast<int>(shares_.size()));
  }
  negotiate(std::vector<int>(steps, 0));
}

void TimedLoad::add(const TimedSends& sends, int by) {
  for (const auto& [step, link, reduce] : sends)
    for (int i = first_[link]; i < first_[link + 1]; ++i) {
      const auto& [bin, weight] = shares_[i];
      const double before = rounds_of(step, bin);
      slots_[at(step, bin)].load += by * weight;
      if (sharpness_ > 0) weigh(step, bin);
      reprice(step, bin);
      rescaled_[step] |= std::max(before, rounds_of(step, bin)) >= scale_[step];
    }
  if (sharpness_ == 0) return;
  for (int s = 0; s < steps_; ++s)
    if (std::exchange(rescaled_[s], false) && std::max(fullest(s), floor_) != scale_[s]) weigh(s);
}

double TimedLoad::weight(int step, int bin) const {
  return std::exp(sharpness_ * (rounds_of(step, bin) / scale_[step] - 1));
}

void TimedLoad::weigh(int step, int bin) {
  Slot& slot = slots_[at(step, bin)];
  sum_[step] -= slot.weight;
  slot.weight = weight(step, bin);
  sum_[step] += slot.weight;
  factor_[step] = 1 / sum_[step];
}

double TimedLoad::price(const TimedSends& sends) const {
  double sum = 0;
  for (const TimedSend& send : sends) sum += price(send.link, send.step);
  return sum;
}

const std::vector<double>& TimedLoad::prices(int step) const {
  if (stale_[step]) {
    priced_[step].resize(first_.size() - 1);
    for (LinkId l = 0; l < std::ssize(priced_[step]); ++l) priced_[step][l] = price(l, step);
    stale_[step] = false;
  }
  return priced_[step];
}

std::vector<int> TimedLoad::rounds() const {
  std::vector<int> rounds;
  for (int s = 0; s < steps_; ++s) {
    long long most = 0;
    for (int b = 0; b < bins(); ++b) {
      const long long capacity = orbits_.capacities()[b];
      most = std::max(most, (slots_[at(s, b)].load + capacity - 1) / capacity);
    }
    rounds.push_back(static_cast<int>(most));
  }
  return rounds;
}

double TimedLoad::fractional_rounds() const {
  double sum = 0;
  for (int s = 0; s < steps_; ++s) sum += fullest(s);
  return sum;
}

void TimedLoad::price_smoothly(double sharpness, double floor) {
  sharpness_ = sharpness;
  floor_ = floor;
  least_ = kLeastPrice;
  for (int s = 0; s < steps_; ++s) weigh(s);
}

double TimedLoad::fullest(int step) const {
  double most = 0;
  for (int b = 0; b < bins(); ++b) most = std::max(most, rounds_of(step, b));
  return most;
}

// All bins of a step, relative to the fullest or the floor. A step that carries nothing costs as much as one
// with a single full bin, unless the floor opens it.
void TimedLoad::weigh(int step) {
  const double peak = fullest(step);
  scale_[step] = std::max(peak, floor_);
  const bool empty = scale_[step] == 0;
  sum_[step] = floor_ > 0 && peak <= floor_ ? 1 : 0;
  for (int b = 0; b < bins(); ++b) {
    Slot& slot = slots_[at(step, b)];
    slot.weight = empty ? 1 : weight(step, b);
    sum_[step] += slot.weight;
    reprice(step, b);
  }
  if (empty) sum_[step] = 1;
  factor_[step] = 1 / sum_[step];
}

// By capacity, so that a round costs alike on narrow links and wide ones.
void TimedLoad::negotiate(std::vector<int> rounds) {
  sharpness_ = 0;
  least_ = 0;
  pressure_ = kMinPressure;
  rounds_ = std::move(rounds);
  factor_.assign(steps_, 1);
  scale_.assign(steps_, 1);
  sum_.assign(steps_, 1);
  stale_.assign(steps_, true);
  rescaled_.assign(steps_, false);
  priced_.resize(steps_);
  for (int s = 0; s < steps_; ++s)
    for (int b = 0; b < bins(); ++b) {
      Slot& slot = slots_[at(s, b)];
      slot.room = orbits_.capacities()[b] * rounds_[s];
      slot.base = 1.0 / static_cast<double>(orbits_.capacities()[b]);
      reprice(s, b);
    }
}

long long TimedLoad::overflow() const {
  long long sum = 0;
  for (const Slot& slot : slots_) sum += std::max(0LL, slot.load - slot.room);
  return sum;
}

bool TimedLoad::overloaded(const TimedSends& sends) const {
  return std::ranges::any_of(sends, [&](const TimedSend& send) {
    return std::ranges::any_of(orbits_.shares(send.link), [&](const LinkOrbits::Share& share) {
      const Slot& slot = slots_[at(send.step, share.bin)];
      return slot.load > slot.room;
    });
  });
}

// The present price (pressure) rises for all alike, the permanent one only where something is over.
void TimedLoad::raise() {
  pressure_ = std::min(pressure_ * kPressureFactor, kMaxPressure);
  for (int s = 0; s < steps_; ++s)
    for (int b = 0; b < bins(); ++b) {
      Slot& slot = slots_[at(s, b)];
      const auto capacity = static_cast<double>(orbits_.capacities()[b]);
      if (slot.load > slot.room)
        slot.base += kHistory * static_cast<double>(slot.load - slot.room) / (capacity * capacity);
      reprice(s, b);
    }
}

// The most that a bin lacks, in rounds, rounded up; where none lacks any, less than 0, what all can spare,
// rounded down.
long long TimedLoad::lacking(int step) const {
  long long most = std::numeric_limits<long long>::min();
  for (int b = 0; b < bins(); ++b) {
    const Slot& slot = slots_[at(step, b)];
    const long long capacity = orbits_.capacities()[b], over = slot.load - slot.room;
    most = std::max(most, over > 0 ? (over + capacity - 1) / capacity : -(-over / capacity));
  }
  return most;
}

void TimedLoad::move_round() {
  std::vector<long long> lack;
  for (int s = 0; s < steps_; ++s) lack.push_back(lacking(s));
  const int to = static_cast<int>(std::ranges::max_element(lack) - lack.begin());
  int from = -1;
  for (int s = 0; s < steps_; ++s)
    if (rounds_[s] > 1 && s != to && (from < 0 || lack[s] < lack[from])) from = s;
  if (lack[to] <= 0 || from < 0 || lack[from] >= lack[to]) return;
  widen(from, -1);
  widen(to, 1);
}

// Least over: the fewest rounds that the step then lacks, and of equals the least sum over its bins.
bool TimedLoad::narrow() {
  int step = -1;
  std::pair<long long, long long> least;
  for (int s = 0; s < steps_; ++s) {
    if (rounds_[s] == 0) continue;
    std::pair<long long, long long> over{std::max(0LL, lacking(s) + 1), 0};
    for (int b = 0; b < bins(); ++b) {
      const Slot& slot = slots_[at(s, b)];
      over.second += std::max(0LL, slot.load - slot.room + orbits_.capacities()[b]);
    }
    if (step >= 0 && over >= least) continue;
    step = s;
    least = over;
  }
  if (step >= 0) widen(step, -1);
  return step >= 0;
}

// The load stays: a step that gets narrower may be over afterwards.
void TimedLoad::widen(int step, int rounds) {
  rounds_[step] += rounds;
  for (int b = 0; b < bins(); ++b) {
    slots_[at(step, b)].room += orbits_.capacities()[b] * rounds;
    reprice(step, b);
  }
}

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

std::optional<double> TimedTree::grow(const Question& question, const TimedLoad& load, TimedSends& sends) {
  asked_ = &question;
  load_ = &load;
  arcs_ = question.backwards ? &backwards_ : &forwards_;
  layers_ = question.layers;
  by_.assign(static_cast<std::size_t>(layers_ + 1) * ranks_, {});
  cost_.assign(by_.size(), kInfinitePrice);
  entries_.assign(ranks_, {});
  const bool is_path = question.targets->size() == 1;
  if (!(is_path ? find_path(question.targets->front()) : find_tree())) return std::nullopt;
  double sum = 0;
  for (const Entry& entry : entries_)
    if (entry.link >= 0) {
      const int s = step(entry.layer);
      sends.push_back({.step = s, .link = entry.link, .reduce = question.backwards});
      sum += load.price(entry.link, s);
    }
  return sum;
}

// Layer by layer. The ranks that are the most expensive to reach are joined first, each from where its path
// meets the tree.
bool TimedTree::find_tree() {
  priced_.clear();
  for (int layer = 0; layer < layers_; ++layer) priced_.push_back(load_->prices(step(layer)).data());
  in_tree_.assign(ranks_, false);
  wanted_.assign(ranks_, false);
  for (const Rank root : *asked_->roots) {
    in_tree_[root] = true;
    cost_[at(root, 0)] = 0;
  }
  for (int layer = 0; layer < layers_; ++layer) {
    for (Rank n = 0; n < ranks_; ++n) cost_[at(n, layer + 1)] = cost_[at(n, layer)];
    for (Rank n = 0; n < ranks_; ++n) {
      if (cost_[at(n, layer)] == kInfinitePrice) continue;
      for (int r = arcs_->first[n]; r < arcs_->first[n + 1]; ++r) {
        const auto [link, to] = arcs_->all[r];
        const double with = cost_[at(n, layer)] + price(link, layer);
        if (with >= cost_[at(to, layer + 1)]) continue;
        cost_[at(to, layer + 1)] = with;
        by_[at(to, layer + 1)] = {.link = link, .from = n};
      }
    }
  }
  work_ += std::ssize(arcs_->from) * layers_ / 4;
  order_.clear();
  for (const Rank n : *asked_->targets) {
    if (cost_[at(n, layers_)] == kInfinitePrice) return false;
    if (!in_tree_[n]) order_.push_back(n);
    wanted_[n] = true;
  }
  std::ranges::stable_sort(order_, std::greater(), [&](Rank n) { return cost_[at(n, layers_)]; });
  for (Rank n : order_)
    for (int layer = layers_; !in_tree_[n] || there(n) > layer; --layer) {
      const Arrival by = by_[at(n, layer)];
      if (by.link < 0) continue;
      in_tree_[n] = true;
      entries_[n] = {.link = by.link, .layer = layer - 1};
      n = by.from;
    }
  improve();
  return true;
}

// Until nothing is cheaper, or kMostTreeSweeps times. Ranks become relays by what that gains, most first: by
// number instead trees are 5 % more expensive.
void TimedTree::improve() {
  find_latest();
  bool changed = layers_ > 1;
  for (int sweep = 0; changed && sweep < kMostTreeSweeps; ++sweep) {
    work_ += std::ssize(arcs_->from) * layers_ / 3;
    changed = false;
    gains_.clear();
    for (Rank n = 0; n < ranks_; ++n)
      if (is_inner(n)) changed = move_parent(n) || changed;
    for (Rank n = 0; n < ranks_; ++n)
      if (const double gain = is_inner(n) ? find_relay(n) : 0; gain > 0) gains_.push_back({gain, n});
    std::ranges::sort(gains_, std::greater());
    for (const auto& [gain, n] : gains_)
      if (find_relay(n) > 0) {
        make_relay(n);
        changed = true;
      }
  }
  prune();
}

// A relay whose target was reached over others since has nothing to pass on.
void TimedTree::prune() {
  const auto above = [&](Rank n) { return arcs_->from[entries_[n].link]; };
  below_.assign(ranks_, 0);
  for (Rank n = 0; n < ranks_; ++n)
    if (is_inner(n)) ++below_[above(n)];
  for (Rank first = 0; first < ranks_; ++first)
    for (Rank n = first; !wanted_[n] && below_[n] == 0 && is_inner(n);) {
      const Rank next = above(n);
      entries_[n] = {};
      --below_[next];
      n = next;
    }
}

void TimedTree::find_latest() {
  latest_.assign(ranks_, layers_);
  for (const Entry& entry : entries_)
    if (entry.link >= 0) {
      int& latest = latest_[arcs_->from[entry.link]];
      latest = std::min(latest, entry.layer);
    }
}

// What is below the rank has the chunk only later than it needs it, so it is sent from none of these.
void TimedTree::find_cheapest_into(Rank n) {
  const Arcs& into = asked_->backwards ? forwards_ : backwards_;
  into_.assign(layers_, {});
  for (int r = into.first[n]; r < into.first[n + 1]; ++r) {
    const auto [link, from] = into.all[r];
    if (!in_tree_[from]) continue;
    for (int layer = there(from); layer < layers_; ++layer)
      if (into_[layer].link < 0 || price(link, layer) < price(into_[layer]))
        into_[layer] = {.link = link, .layer = layer};
  }
  for (int layer = 1; layer < layers_; ++layer)
    if (const Entry& before = into_[layer - 1];
        before.link >= 0 && (into_[layer].link < 0 || price(before) <= price(into_[layer])))
      into_[layer] = before;
}

bool TimedTree::move_parent(Rank n) {
  find_cheapest_into(n);
  const Entry best = into_[latest_[n] - 1];
  if (price(best) >= price(entries_[n]) * (1 - kLeastGain)) return false;
  entries_[n] = best;
  find_latest();
  return true;
}

// From layer to layer backwards: what others gain by a send from here in that layer or later.
double TimedTree::find_relay(Rank n) {
  const int first = arcs_->first[n], arcs = arcs_->first[n + 1] - first;
  double most = 0;
  moving_.assign(arcs, {});
  find_cheapest_into(n);
  for (int at = layers_ - 1; at > 0; --at) {
    double gain = 0;
    for (int r = 0; r < arcs; ++r) {
      const auto [link, to] = arcs_->all[first + r];
      if (!is_inner(to)) continue;
      if (at < latest_[to] && (moving_[r].link < 0 || price(link, at) < price(moving_[r])))
        moving_[r] = {.link = link, .layer = at};
      if (moving_[r].link >= 0) gain += std::max(0.0, price(entries_[to]) - price(moving_[r]));
    }
    const Entry best = into_[at - 1];
    if (at > latest_[n] || best.link < 0) continue;
    for (int r = 0; r < arcs; ++r)
      if (const auto [link, to] = arcs_->all[first + r]; to == arcs_->from[best.link] && moving_[r].link >= 0)
        gain -= std::max(0.0, price(entries_[to]) - price(moving_[r]));
    gain += price(entries_[n]) - price(best);
    if (gain <= std::max(most, kLeastGain * price(entries_[n]))) continue;
    most = gain;
    relay_ = best;
    moved_ = moving_;
  }
  return most;
}

void TimedTree::make_relay(Rank n) {
  const Rank above = arcs_->from[relay_.link];
  entries_[n] = relay_;
  for (int r = 0; r < std::ssize(moved_); ++r)
    if (const Rank to = arcs_->all[arcs_->first[n] + r].to;
        to != above && moved_[r].link >= 0 && price(moved_[r]) < price(entries_[to]))
      entries_[to] = moved_[r];
  find_latest();
}

// Dijkstra over pairs of rank and layer, which ends long before all are examined. cost_ never rises with the
// layer, since a rank keeps what it has. So an offer stands for all later layers of equal cost, and a rank
// offers its links from its layer on until it is cheaper to have come later.
bool TimedTree::find_path(Rank target) {
  offers_.clear();
  for (const Rank root : *asked_->roots) {
    lower(root, 0, 0);
    if (root != target) spread(root, 0);
  }
  while (cost_[at(target, layers_)] > 0) {
    if (offers_.empty()) return false;
    std::pop_heap(offers_.begin(), offers_.end());
    const Offer offer = offers_.back();
    offers_.pop_back();
    const double* const cost = &cost_[at(offer.rank, 0)];
    // Something was cheaper since, or as cheap and earlier.
    if (cost[offer.layer] < offer.cost || cost[offer.layer - 1] <= offer.cost) continue;
    if (offer.rank != target) {
      spread(offer.rank, offer.layer);
      continue;
    }
    Rank next = target;
    for (int layer = offer.layer; cost_[at(next, layer)] > 0; --layer) {
      const Arrival by = by_[at(next, layer)];
      if (by.link < 0) continue;
      entries_[next] = {.link = by.link, .layer = layer - 1};
      next = by.from;
    }
    return true;
  }
  return true;
}

// The order of equal costs is fixed, so that a path does not depend on the heap.
bool TimedTree::Offer::operator<(const Offer& other) const {
  if (cost != other.cost) return cost > other.cost;
  return std::pair(layer, rank) > std::pair(other.layer, other.rank);
}

// From a layer on, until one where it is as cheap anyhow.
void TimedTree::lower(Rank n, int layer, double cost) {
  for (; layer <= layers_ && cost_[at(n, layer)] > cost; ++layer) {
    cost_[at(n, layer)] = cost;
    by_[at(n, layer)] = {};
  }
}

// A rank that has it in a layer may send it on, then or later, as long as having it costs the same.
void TimedTree::spread(Rank n, int layer) {
  const double* const cost = &cost_[at(n, 0)];
  int end = layer;
  while (end < layers_ && cost[end] == cost[layer]) ++end;
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
      const double with = cost[layer] + load_->price(link, step(s));
      if (with >= there[s + 1]) continue;
      lower(to, s + 1, with);
      by_[at(to, s + 1)] = {.link = link, .from = n};
      offers_.push_back({.cost = with, .layer = s + 1, .rank = to});
      std::push_heap(offers_.begin(), offers_.end());
    }
  }
}

}  // namespace chorale
