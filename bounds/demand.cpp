// What all classes pay under given prices: cheapest paths from each class of sources, by Dijkstra's
// algorithm, or by one pass over the links per step where prices have steps. Sums are taken in 128 bits and
// refused beyond 2^60. check.cpp does this again in its own words, since nothing that leaves here is trusted
// there.
//
// A search for prices examines some of the chunks and some of the destinations, mostly in doubles; here all
// chunks pay, in integers, each for its most expensive destination. So a bound is never more than its prices
// show, may be more than the finder asked for, and the most expensive destinations are what the next search
// for prices starts from (price_search.h).
#include "bounds/demand.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "graph/paths.h"

namespace chorale {
namespace {

__extension__ typedef __int128 Wide;
constexpr std::int64_t kUnreached = INT64_MAX;

class PathCosts {
 public:
  PathCosts(const Topology& topology, const std::vector<Prices>& prices, bool timed)
      : topology_(topology), timed_(timed), leaving_(topology.ranks) {
    for (const Prices& p : prices) weights_.push_back(link_weights(topology, p));
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      leaving_[topology.links[l].src].push_back(l);
  }

  std::vector<std::int64_t> from(const RankSet& sources) const {
    if (!timed_)
      return cheapest_paths(topology_.ranks, sources, std::int64_t{0}, kUnreached,
                            [&](Rank n, std::int64_t so_far, const auto& reach) {
                              for (const LinkId l : leaving_[n])
                                reach(topology_.links[l].dst, l, so_far + weights_.front()[l]);
                            })
          .cost;
    std::vector<std::int64_t> cost(topology_.ranks, kUnreached);
    for (Rank n : sources) cost[n] = 0;
    for (const std::vector<std::int64_t>& w : weights_) {
      // Waiting is free, so costs only fall from step to step; moves read what was so before the step, or a
      // chunk would go over two links in it.
      const std::vector<std::int64_t> before = cost;
      for (std::size_t l = 0; l < w.size(); ++l) {
        const Link& link = topology_.links[l];
        if (before[link.src] != kUnreached)
          cost[link.dst] = std::min(cost[link.dst], before[link.src] + w[l]);
      }
    }
    return cost;
  }

 private:
  const Topology& topology_;
  const bool timed_;
  std::vector<std::vector<LinkId>> leaving_;             // by rank
  std::vector<std::vector<std::int64_t>> weights_ = {};  // by step, by link
};

}  // namespace

Prices no_prices(const Topology& topology) {
  return {.links = std::vector<int>(topology.links.size(), 0),
          .limits = std::vector<int>(topology.limits.size(), 0)};
}

std::vector<std::int64_t> link_weights(const Topology& topology, const Prices& prices) {
  std::vector<std::int64_t> w(prices.links.begin(), prices.links.end());
  for (std::size_t z = 0; z < topology.limits.size(); ++z)
    if (prices.limits[z] != 0)
      for (LinkId l : topology.limits[z].links) w[l] += prices.limits[z];
  return w;
}

std::int64_t paid_per_round(const Topology& topology, const Prices& prices) {
  Wide sum = 0;
  for (std::size_t l = 0; l < prices.links.size(); ++l)
    sum += Wide{prices.links[l]} * topology.links[l].bandwidth;
  for (std::size_t z = 0; z < prices.limits.size(); ++z)
    sum += Wide{prices.limits[z]} * topology.limits[z].bandwidth;
  return sum < kMostPaid ? static_cast<std::int64_t>(sum) : kMostPaid;
}

std::vector<ChunkClass> wanted_classes(const Collective& collective) {
  Collective lacking = collective;
  for (const ChunkClass& each : chunk_classes(collective)) {
    std::vector<Rank> wanted;
    std::ranges::set_difference(each.post, each.pre, std::back_inserter(wanted));
    const RankSet shared = std::move(wanted);
    for (Chunk c : each.chunks) lacking.chunks[c].post = shared;
  }
  // Once more, since classes that differ only in ranks that both have and need the chunk are one now.
  std::vector<ChunkClass> classes = chunk_classes(lacking);
  std::erase_if(classes, [](const ChunkClass& each) { return each.post.empty(); });
  return classes;
}

std::vector<Demand> demands(const std::vector<ChunkClass>& classes, const Choice& choice) {
  std::vector<Demand> result;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (choice[i] != kNotCharged)
      result.push_back({.from = classes[i].pre, .to = choice[i], .amount = classes[i].count()});
  return result;
}

// Fractions are compared crosswise, exactly.
bool stronger(const PriceBound& a, const PriceBound& b) {
  return Wide{a.owed} * b.per_round > Wide{b.owed} * a.per_round;
}

int rounds_shown(const PriceBound& bound) {
  const std::int64_t rounds = bound.owed / bound.per_round + (bound.owed % bound.per_round != 0 ? 1 : 0);
  return static_cast<int>(std::min<std::int64_t>(rounds, INT_MAX - 1));
}

std::optional<Payment> pay(const Topology& topology, const std::vector<ChunkClass>& classes,
                           std::vector<Prices> prices, bool timed, const Choice& choice) {
  Payment payment{.bound = {.per_round = 0}, .most_expensive = choice};
  for (const Prices& p : prices)
    payment.bound.per_round = std::max(payment.bound.per_round, paid_per_round(topology, p));
  if (payment.bound.per_round == 0 || payment.bound.per_round == kMostPaid) return std::nullopt;
  const PathCosts costs(topology, prices, timed);
  std::vector<std::int64_t> to;
  Wide owed = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    // Classes come by their sources, so one run of paths serves all with the same.
    if (i == 0 || classes[i].pre != classes[i - 1].pre) to = costs.from(classes[i].pre);
    const Rank d = *std::max_element(classes[i].post.begin(), classes[i].post.end(),
                                     [&](Rank a, Rank b) { return to[a] < to[b]; });
    if (to[d] == kUnreached) return std::nullopt;
    owed += Wide{to[d]} * classes[i].count();
    // Only for a strictly more expensive one: of equal destinations the chosen one stays, by which a search
    // detects that it has converged.
    if (to[d] > (choice[i] == kNotCharged ? 0 : to[choice[i]])) payment.most_expensive[i] = d;
  }
  if (owed >= kMostPaid) return std::nullopt;
  payment.bound.owed = static_cast<std::int64_t>(owed);
  payment.bound.prices = std::move(prices);
  return payment;
}

// Duals of a vertex are fractions with small denominators, scaled by anything. Divided by the highest, each
// is expanded as a continued fraction until it fits; the common denominator makes integers of all. Where that
// fails, prices are rounded to millionths of the highest, which loses a little of the bound and nothing of
// its truth.
//
// Duals solve a system with the program's own small integers, so they are fractions of integers (Cramer's
// rule), mostly small ones; what makes them doubles is the solver. Nothing here has to be right: prices are
// priced again exactly, and any nonnegative ones show something true.
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
