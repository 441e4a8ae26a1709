#include "construct/smooth_load.h"

#include <algorithm>
#include <cmath>

namespace chorale {

namespace {

// Below it a weight has lost what it was, and is told from the load. A sum of which so little stays has lost what it was, too.
constexpr double kLeastWeight = 1e-200;
constexpr double kLeastStays = 1e-8;
constexpr double kMostSum = 1e100;
// What is free is not wasted, and a tree ends (timed_tree.h).
constexpr double kLeastShare = 1e-12;

}  // namespace

void SmoothLoad::clear(int steps) {
  steps_ = steps;
  load_.assign(static_cast<std::size_t>(bins()) * steps, 0);
  weight_.assign(load_.size(), 1);
  peak_.assign(steps, 0);
  sum_.assign(steps, 0);
  inverse_.assign(steps, 0);
}

void SmoothLoad::sharpen(double sharpness) {
  sharpness_ = sharpness;
  for (int s = 0; s < steps_; ++s) renew(s);
  growth_.clear();
  share_.clear();
  for (long long capacity : orbits_.capacities()) {
    const double by = sharpness / static_cast<double>(capacity);
    growth_.push_back(std::exp(by));
    share_.push_back(std::expm1(by) / sharpness);
  }
}

void SmoothLoad::renew(int step) {
  peak_[step] = 0;
  sum_[step] = 0;
  for (int b = 0; b < bins(); ++b) peak_[step] = std::max(peak_[step], rounds_of(b, step));
  for (int b = 0; b < bins(); ++b) {
    weight_[at(b, step)] = std::exp(sharpness_ * (rounds_of(b, step) - peak_[step]));
    sum_[step] += weight_[at(b, step)];
  }
  inverse_[step] = 1 / sum_[step];
}

void SmoothLoad::add(LinkId l, int step, int sends) {
  const double before = sum_[step];
  for (const LinkOrbits::Share& s : orbits_.shares(l)) {
    const std::size_t i = at(s.bin, step);
    const int more = sends * s.weight;
    load_[i] += more;
    double weight = weight_[i];
    for (int k = 0; k < more; ++k) weight *= growth_[s.bin];
    for (int k = 0; k > more; --k) weight /= growth_[s.bin];
    if (!(weight > kLeastWeight)) weight = std::exp(sharpness_ * (rounds_of(s.bin, step) - peak_[step]));
    sum_[step] += weight - weight_[i];
    weight_[i] = weight;
  }
  if (sum_[step] > kLeastStays * before && sum_[step] < kMostSum)
    inverse_[step] = 1 / sum_[step];
  else
    renew(step);
}

void SmoothLoad::prices_of(LinkId l, std::span<double> prices) const {
  std::ranges::fill(prices, 0.0);
  for (const LinkOrbits::Share& share : orbits_.shares(l)) {
    const double* const weight = &weight_[at(share.bin, 0)];
    const double by = share_[share.bin] * share.weight;
    for (int s = 0; s < steps_; ++s) prices[s] += by * (weight[s] * inverse_[s] + kLeastShare);
  }
}

std::vector<int> SmoothLoad::rounds() const {
  std::vector<int> rounds;
  for (int s = 0; s < steps_; ++s) {
    long long most = 0;
    for (int b = 0; b < bins(); ++b)
      most = std::max(most, (load_[at(b, s)] + orbits_.capacities()[b] - 1) / orbits_.capacities()[b]);
    rounds.push_back(static_cast<int>(most));
  }
  return rounds;
}

}  // namespace chorale
