// Duals of a vertex are fractions with small denominators, scaled by anything. Divided by the highest, each
// is expanded as a continued fraction until it fits; the common denominator makes integers of all. Where that
// fails, prices are rounded to millionths of the highest, which loses a little of the bound and nothing of
// its truth.
//
// Duals solve a system with the program's own small integers, so they are fractions of integers (Cramer's
// rule), mostly small ones; what makes them doubles is the solver. Nothing here has to be right: prices are
// priced again exactly, and any nonnegative ones show something true.
#include "bounds/integer_prices.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>

namespace chorale {
namespace {

constexpr std::int64_t kFinest = 1'000'000;  // the highest price, where the exact ratios are not found
constexpr std::int64_t kDenominator = 5'000;
constexpr double kRelativeTolerance = 1e-9;

// The denominator of the first convergent of x's continued fraction that is near x; 0 if none is small.
// Convergents are the best fractions for their size, so the first that is near is the one that was meant:
// 0.333333333 is 1/3. A part that is next to nothing would be a huge next term, that is, noise.
std::int64_t denominator_of(double x) {
  std::int64_t before = 0, q = 1;  // denominators of the last two convergents
  double rest = x;
  for (int i = 0; i < 32; ++i) {
    if (std::abs(x * static_cast<double>(q) - std::round(x * static_cast<double>(q))) <
        kRelativeTolerance * static_cast<double>(q))
      return q;
    const double part = rest - std::floor(rest);
    if (part < 1e-12) return 0;
    rest = 1 / part;
    const double next = std::floor(rest) * static_cast<double>(q) + static_cast<double>(before);
    if (next > static_cast<double>(kDenominator)) return 0;
    before = q;
    q = static_cast<std::int64_t>(next);
  }
  return 0;
}

// A common denominator of all the values, or kFinest.
std::int64_t common_denominator(const std::vector<std::vector<double>>& values) {
  std::map<double, bool> seen;
  std::int64_t common = 1;
  for (const auto& step : values)
    for (double x : step) {
      if (!seen.try_emplace(x, true).second) continue;
      const std::int64_t q = denominator_of(x);
      if (q == 0) return kFinest;
      // Prices are at most 1 here, so the common denominator is the highest price.
      common = std::lcm(common, q);
      if (common > kFinest) return kFinest;
    }
  return common;
}

}  // namespace

std::vector<Prices> integer_prices(std::vector<std::vector<double>> values, int links) {
  double highest = 0;
  for (const auto& step : values)
    for (double x : step) highest = std::max(highest, x);
  if (!(highest > 0)) return {};
  for (auto& step : values)
    for (double& x : step) x = x < highest * kRelativeTolerance ? 0 : x / highest;
  const std::int64_t scale = common_denominator(values);
  std::vector<Prices> result;
  int divisor = 0;
  for (const auto& step : values) {
    Prices& prices = result.emplace_back();
    for (std::size_t i = 0; i < step.size(); ++i) {
      const int price = static_cast<int>(std::llround(step[i] * static_cast<double>(scale)));
      divisor = std::gcd(divisor, price);
      (static_cast<int>(i) < links ? prices.links : prices.limits).push_back(price);
    }
  }
  for (Prices& prices : result) {
    for (int& price : prices.links) price /= divisor;
    for (int& price : prices.limits) price /= divisor;
  }
  return result;
}

}  // namespace chorale
