// Negotiated bases rise by the share of the capacity that is over, so that narrow links and wide ones count
// alike. Rounds move between steps since the first and last steps of some machines carry less than those
// between.
#include "construct/engine/timed_load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace chorale {
namespace {

constexpr double kHistory = 0.3;
constexpr double kMinPressure = 0.5, kPressureFactor = 1.15, kMaxPressure = 1e6;
// Below it a weight has lost its digits and is computed from the load; so has a sum that fell by so much.
constexpr double kLeastWeight = 1e-200;
constexpr double kFloor = 1e-12;  // of the steepest price
constexpr double kLeastStays = 1e-4, kMostSum = 1e100;
constexpr int kMostSweeps = 3;       // of the improvement of a tree
constexpr double kLeastGain = 1e-9;  // of a price

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
      slots_[at(step, bin)].load += by * weight;
      if (sharpness_ > 0) weigh(step, bin, by * weight);
      reprice(step, bin);
    }
}

// A send multiplies the weight of its bin by exp(sharpness / capacity), so a price is renewed without an
// exponential. Digits are lost where weights fall far; then bin, or step, is computed from its load again.
void TimedLoad::weigh(int step, int bin, int more) {
  Slot& slot = slots_[at(step, bin)];
  const double before = slot.weight;
  slot.weight *= more == 1 ? growth_[bin] : more == -1 ? 1 / growth_[bin] : std::pow(growth_[bin], more);
  if (!(slot.weight > kLeastWeight))
    slot.weight = std::exp(sharpness_ * (rounds_of(step, bin) - peak_[step]));
  sum_[step] += slot.weight - before;
  if (sum_[step] < kLeastStays / factor_[step] || sum_[step] > kMostSum)
    weigh(step);
  else
    factor_[step] = 1 / sum_[step];
}

double TimedLoad::price(const TimedSends& sends) const {
  double sum = 0;
  for (const TimedSend& send : sends) sum += price(send.link, send.step);
  return sum;
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

void TimedLoad::price_smoothly(double sharpness) {
  sharpness_ = sharpness;
  growth_.clear();
  slope_.clear();
  for (const long long capacity : orbits_.capacities()) {
    const double by = sharpness / static_cast<double>(capacity);
    growth_.push_back(std::exp(by));
    slope_.push_back(std::expm1(by) / sharpness);
  }
  floor_ = slope_.empty() ? 0 : kFloor * std::ranges::max(slope_);
  peak_.assign(steps_, 0);
  sum_.assign(steps_, 0);
  for (int s = 0; s < steps_; ++s) weigh(s);
}

// All bins of a step from their loads, relative to the fullest, so that no exponential overflows.
void TimedLoad::weigh(int step) {
  peak_[step] = 0;
  sum_[step] = 0;
  for (int b = 0; b < bins(); ++b) peak_[step] = std::max(peak_[step], rounds_of(step, b));
  for (int b = 0; b < bins(); ++b) {
    Slot& slot = slots_[at(step, b)];
    slot.weight = std::exp(sharpness_ * (rounds_of(step, b) - peak_[step]));
    sum_[step] += slot.weight;
    reprice(step, b);
  }
  factor_[step] = 1 / sum_[step];
}

// By capacity, so that a round costs alike on narrow links and wide ones.
void TimedLoad::negotiate(std::vector<int> rounds) {
  sharpness_ = 0;
  floor_ = 0;
  pressure_ = kMinPressure;
  rounds_ = std::move(rounds);
  factor_.assign(steps_, 1);
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

// cost_ has for each rank and layer the least price at which it may have the chunk by then, which never
// rises with the layer, since a rank keeps what it has. So an offer stands for all later layers of equal
// cost, and a rank offers its links from its layer on until it is cheaper to have come later. What the tree
// has reached costs 0, and the search goes on from there instead of starting anew for each target.

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
  if (question.improves && layers_ > 1) improve();
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

// Until nothing is cheaper, or kMostSweeps times. Prices do not change within a tree: each is looked up once.
void TimedTree::improve() {
  priced_.resize(arcs_->from.size() * layers_);
  for (LinkId l = 0; l < std::ssize(arcs_->from); ++l)
    for (int layer = 0; layer < layers_; ++layer)
      priced_[static_cast<std::size_t>(l) * layers_ + layer] = load_->price(l, step(layer));
  in_tree_.assign(ranks_, false);
  for (const Rank root : *asked_->roots) in_tree_[root] = true;
  for (Rank n = 0; n < ranks_; ++n) in_tree_[n] |= is_inner(n);
  find_latest();
  bool changed = true;
  for (int sweep = 0; changed && sweep < kMostSweeps; ++sweep) {
    work_ += std::ssize(arcs_->from) * layers_ / 2;
    changed = false;
    for (Rank n = 0; n < ranks_; ++n)
      if (is_inner(n)) changed = move_parent(n) || changed;
    for (Rank n = 0; n < ranks_; ++n)
      if (is_inner(n)) changed = make_relay(n) || changed;
  }
  prune();
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
bool TimedTree::make_relay(Rank n) {
  const int first = arcs_->first[n], arcs = arcs_->first[n + 1] - first;
  moving_.assign(arcs, {});
  find_cheapest_into(n);
  double most = kLeastGain * price(entries_[n]);
  Entry into;
  for (int at = layers_ - 1; at > 0; --at) {
    double gain = 0;
    for (int r = 0; r < arcs; ++r) {
      const auto [link, to] = arcs_->all[first + r];
      if (!is_inner(to)) continue;
      if (at < latest_[to] && (moving_[r].link < 0 || price(link, at) < price(moving_[r])))
        moving_[r] = {.link = link, .layer = at};
      if (moving_[r].link >= 0) gain += std::max(0.0, price(entries_[to]) - price(moving_[r]));
    }
    if (at > latest_[n]) continue;
    const Entry best = into_[at - 1];
    if (best.link < 0) continue;
    for (int r = 0; r < arcs; ++r)
      if (const auto [link, to] = arcs_->all[first + r]; to == arcs_->from[best.link] && moving_[r].link >= 0)
        gain -= std::max(0.0, price(entries_[to]) - price(moving_[r]));
    gain += price(entries_[n]) - price(best);
    if (gain <= most) continue;
    most = gain;
    into = best;
    moved_ = moving_;
  }
  if (into.link < 0) return false;
  const Rank above = arcs_->from[into.link];
  entries_[n] = into;
  for (int r = 0; r < arcs; ++r)
    if (const Rank to = arcs_->all[first + r].to;
        to != above && moved_[r].link >= 0 && price(moved_[r]) < price(entries_[to]))
      entries_[to] = moved_[r];
  find_latest();
  return true;
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
