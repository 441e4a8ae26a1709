// Negotiated bases rise by the share of the capacity that is over, so that narrow links and wide ones count
// alike. Rounds move between steps since the first and last steps of some machines carry less than those
// between.
#include "construct/timed_load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace chorale {
namespace {

constexpr double kHistory = 0.3;
constexpr double kFirstPressure = 0.5, kMorePressure = 1.15, kMostPressure = 1e6;
// Below it a weight has lost its digits and is computed from the load; so has a sum that fell by so much.
constexpr double kLeastWeight = 1e-200;
constexpr double kFloor = 1e-12;  // of the steepest price
constexpr double kLeastStays = 1e-4, kMostSum = 1e100;

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
  pressure_ = kFirstPressure;
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
  pressure_ = std::min(pressure_ * kMorePressure, kMostPressure);
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

}  // namespace chorale
