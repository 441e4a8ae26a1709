// Bases rise by the share of the capacity that is over, so that narrow links and wide ones are told alike. That rounds move between
// steps is for machines whose first and last steps carry less than those between.
#include "construct/congestion.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace chorale {
namespace {

constexpr double kHistory = 0.3;
constexpr double kMorePressure = 1.15;
constexpr double kMostPressure = 1e6;

}  // namespace

Congestion::Congestion(const LinkOrbits& orbits, int steps, int rounds) : orbits_(orbits), steps_(steps) {
  assert(steps > 0 && rounds >= steps);
  for (int s = 0; s < steps; ++s) rounds_.push_back(rounds / steps + (s < rounds % steps));
  lay_out();
}

Congestion::Congestion(const LinkOrbits& orbits, std::vector<int> rounds)
    : orbits_(orbits), steps_(static_cast<int>(rounds.size())), rounds_(std::move(rounds)) {
  lay_out();
}

void Congestion::lay_out() {
  for (int rounds : rounds_)
    for (long long capacity : orbits_.capacities())
      places_.push_back({.room = capacity * rounds, .base = 1.0 / static_cast<double>(capacity)});
  renew_prices();
}

long long Congestion::overflow() const {
  long long sum = 0;
  for (const Place& p : places_) sum += std::max(0LL, p.load - p.room);
  return sum;
}

void Congestion::raise() {
  for (int s = 0; s < steps_; ++s)
    for (int b = 0; b < static_cast<int>(orbits_.capacities().size()); ++b)
      if (Place& p = places_[at(s, b)]; p.load > p.room) {
        const auto capacity = static_cast<double>(orbits_.capacities()[b]);
        p.base += kHistory * static_cast<double>(p.load - p.room) / (capacity * capacity);
      }
  pressure_ = std::min(pressure_ * kMorePressure, kMostPressure);
  renew_prices();
}

long long Congestion::lacking(int step) const {
  long long most = std::numeric_limits<long long>::min();
  for (int b = 0; b < static_cast<int>(orbits_.capacities().size()); ++b) {
    const Place& p = places_[at(step, b)];
    const long long capacity = orbits_.capacities()[b], over = p.load - p.room;
    most = std::max(most, over > 0 ? (over + capacity - 1) / capacity : -(-over / capacity));
  }
  return most;
}

void Congestion::move_round() {
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

void Congestion::narrow() {
  int step = -1;
  std::pair<long long, long long> least;
  for (int s = 0; s < steps_; ++s) {
    if (rounds_[s] == 0) continue;
    std::pair<long long, long long> over{std::max(0LL, lacking(s) + 1), 0};
    for (int b = 0; b < static_cast<int>(orbits_.capacities().size()); ++b) {
      const Place& p = places_[at(s, b)];
      over.second += std::max(0LL, p.load - p.room + orbits_.capacities()[b]);
    }
    if (step >= 0 && over >= least) continue;
    step = s;
    least = over;
  }
  if (step >= 0) widen(step, -1);
}

void Congestion::widen(int step, int rounds) {
  rounds_[step] += rounds;
  for (int b = 0; b < static_cast<int>(orbits_.capacities().size()); ++b)
    places_[at(step, b)].room += orbits_.capacities()[b] * rounds;
  renew_prices();
}

}  // namespace chorale
