// Real rates as integers: our machines move an integer number of chunks per round over a link.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace chorale {

struct RateFit {
  double unit_gbs = 1;              // of one chunk per round
  std::vector<int> units = {};      // by rate, in the order given
  std::vector<double> errors = {};  // by rate: (units * unit - rate) / rate
  double worst = 0;                 // the largest of these, without its sign
};

// The smallest integers that are in the ratios of the rates (GB/s, > 0), each up to a relative error of at
// most `error` (> 0, < 1), and of these the unit with the least worst error. Requires at least one rate.
// Throws InputError where integers up to 10,000 for the slowest rate, or up to 1,000,000 for the fastest, are
// not enough.
RateFit fitted(std::span<const double> gbs, double error);
// Returns the same, and nothing where it would throw.
std::optional<RateFit> fitted_if_possible(std::span<const double> gbs, double error);

}  // namespace chorale
