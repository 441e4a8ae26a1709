// For q = 1, 2, ... chunks of the slowest rate, the units that fit it are an interval; each other rate keeps
// of what is left the parts that fit it with some integer. The first q that leaves anything has the smallest
// integers. Within one part all integers are fixed, say n_i for rate r_i: with u the unit, the errors are |u
// * n_i / r_i - 1|, of which the worst is least for u = 2 / (max + min) over n_i / r_i.
//
// Continued fractions, one rate after the other, lost: the best fraction for each pair of rates does not give
// the smallest common unit of three.
#include "topology/import/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ir/error.h"

namespace chorale {
namespace {

constexpr int kMostOfSlowest = 10'000;
constexpr double kMostOfFastest = 1'000'000;
constexpr std::size_t kMostParts = 100'000;

struct Units {
  double least = 0, most = 0;
};

// Those of the parts over which some integer times the unit is the rate, up to the error.
std::vector<Units> narrowed(const std::vector<Units>& parts, double rate, double error) {
  std::vector<Units> result;
  for (const Units& part : parts) {
    const double first = std::max(1.0, std::ceil(rate * (1 - error) / part.most * (1 - 1e-12)));
    for (double n = first; n <= kMostOfFastest && rate * (1 + error) / n >= part.least * (1 - 1e-12); ++n) {
      const Units both = {std::max(part.least, rate * (1 - error) / n),
                          std::min(part.most, rate * (1 + error) / n)};
      if (both.least <= both.most * (1 + 1e-12)) result.push_back(both);
      if (result.size() > kMostParts) return result;
    }
  }
  return result;
}

// The middle of the interval has the integers of all of it.
RateFit within(std::span<const double> gbs, const Units& part) {
  RateFit fit;
  const double about = (part.least + part.most) / 2;
  double least = std::numeric_limits<double>::max(), most = 0;
  for (double rate : gbs) {
    fit.units.push_back(std::max(1, static_cast<int>(std::lround(rate / about))));
    const double per_gbs = fit.units.back() / rate;
    least = std::min(least, per_gbs);
    most = std::max(most, per_gbs);
  }
  fit.unit_gbs = 2 / (least + most);
  for (std::size_t i = 0; i < gbs.size(); ++i) {
    fit.errors.push_back(fit.units[i] * fit.unit_gbs / gbs[i] - 1);
    fit.worst = std::max(fit.worst, std::abs(fit.errors.back()));
  }
  return fit;
}

}  // namespace

std::optional<RateFit> fitted_if_possible(std::span<const double> gbs, double error) {
  // `others` has each rate once, the slowest among them, which fits its own interval as it is.
  const double slowest = *std::ranges::min_element(gbs);
  std::vector<double> others(gbs.begin(), gbs.end());
  std::ranges::sort(others);
  others.erase(std::unique(others.begin(), others.end()), others.end());
  if (others.back() / slowest * (1 + error) < kMostOfFastest)
    for (int q = 1; q <= kMostOfSlowest; ++q) {
      std::vector<Units> parts = {{slowest * (1 - error) / q, slowest * (1 + error) / q}};
      for (double rate : others) parts = narrowed(parts, rate, error);
      if (parts.empty()) continue;
      std::vector<RateFit> fits;
      for (const Units& part : parts) fits.push_back(within(gbs, part));
      return *std::ranges::min_element(fits, {}, &RateFit::worst);
    }
  return {};
}

RateFit fitted(std::span<const double> gbs, double error) {
  if (std::optional<RateFit> fit = fitted_if_possible(gbs, error)) return *std::move(fit);
  throw InputError("--error",
                   "no integer numbers of chunks have the ratios of the machine's rates up to this",
                   "allow more, such as 0.05");
}

}  // namespace chorale
