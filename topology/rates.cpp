// Exact ratios first, so that a machine that is stated by bandwidths and the same machine stated by betas are
// one to the bit. Products of decimal numbers differ in their last digits; so rates count to nine digits, and
// the common beta is rounded to twelve.
#include "topology/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "topology/import/fit.h"

namespace chorale {
namespace {

constexpr double kExact = 1e-9;  // relative
constexpr double kNear = 0.02;   // what a search may be off; times are not
constexpr int kMaxExactSlowest = 64;

double decimal(double value, int digits) {
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

// Of a link, rounded: bytes per microsecond.
double gbs_of_units(int bandwidth, double beta_us_per_byte) {
  return decimal(bandwidth / beta_us_per_byte, 12);
}

std::optional<double> beta_of(const Topology& topology, const SharedLimit& limit) {
  const auto beta = [&](LinkId l) { return topology.links[l].beta_us_per_byte; };
  if (limit.links.empty()) return topology.links.front().beta_us_per_byte;
  const double first = beta(limit.links.front());
  if (std::ranges::any_of(limit.links, [&](LinkId l) { return beta(l) != first; })) return {};
  return first;
}

struct RateUnits {
  std::vector<int> units = {};
  bool exact = false;
};

// Exact ratios with few chunks for the slowest, else near ones.
std::optional<RateUnits> units_of(const std::vector<double>& rates) {
  if (const auto fit = fitted_if_possible(rates, kExact))
    if (*std::ranges::min_element(fit->units) <= kMaxExactSlowest) return RateUnits{fit->units, true};
  if (const auto fit = fitted_if_possible(rates, kNear)) return RateUnits{fit->units, false};
  return {};
}

}  // namespace

Topology with_rates_as_bandwidths(const Topology& topology) {
  const auto same_beta = [](const Link& a, const Link& b) {
    return a.beta_us_per_byte == b.beta_us_per_byte;
  };
  if (topology.underlay ||
      std::ranges::adjacent_find(topology.links, std::not_fn(same_beta)) == topology.links.end())
    return topology;
  std::vector<double> rates;
  for (const Link& link : topology.links)
    rates.push_back(gbs_of_units(link.bandwidth, link.beta_us_per_byte));
  for (const SharedLimit& limit : topology.limits) {
    const std::optional<double> beta = beta_of(topology, limit);
    if (!beta) return topology;
    rates.push_back(gbs_of_units(limit.bandwidth, *beta));
  }
  const std::optional<RateUnits> fit = units_of(rates);
  if (!fit) return topology;
  const auto slowest = std::ranges::min_element(rates) - rates.begin();
  const double beta = decimal(fit->units[slowest] / rates[slowest], 12);
  Topology result = topology;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    int& bandwidth = i < topology.links.size() ? result.links[i].bandwidth
                                               : result.limits[i - topology.links.size()].bandwidth;
    bandwidth = fit->units[i];
    if (i < topology.links.size())
      result.links[i].beta_us_per_byte = fit->exact ? beta : fit->units[i] / rates[i];
  }
  return result;
}

}  // namespace chorale
