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
#include <functional>
#include <map>
#include <utility>

#include "graph/paths.h"

namespace chorale {
namespace {

__extension__ typedef __int128 Wide;
constexpr std::int64_t kUnreached = INT64_MAX;
constexpr std::int64_t kMost = std::int64_t{1} << 60;

std::vector<std::int64_t> link_weights(const Topology& topology, const Prices& prices) {
  std::vector<std::int64_t> w(prices.links.begin(), prices.links.end());
  for (std::size_t z = 0; z < topology.limits.size(); ++z)
    if (prices.limits[z] != 0)
      for (LinkId l : topology.limits[z].links) w[l] += prices.limits[z];
  return w;
}

// kMost stands for all that is too large.
std::int64_t paid_per_round(const Topology& topology, const Prices& prices) {
  Wide sum = 0;
  for (std::size_t l = 0; l < prices.links.size(); ++l)
    sum += Wide{prices.links[l]} * topology.links[l].bandwidth;
  for (std::size_t z = 0; z < prices.limits.size(); ++z)
    sum += Wide{prices.limits[z]} * topology.limits[z].bandwidth;
  return sum < kMost ? static_cast<std::int64_t>(sum) : kMost;
}

class PathCosts {
 public:
  PathCosts(const Topology& topology, const std::vector<Prices>& prices, bool timed)
      : topology_(topology), timed_(timed) {
    for (const Prices& p : prices) weights_.push_back(link_weights(topology, p));
    // Links by their tails, one after the other in out_: counted, summed up, and laid down.
    first_.assign(topology.ranks + 1, 0);
    for (const Link& link : topology.links) ++first_[link.src + 1];
    for (int n = 0; n < topology.ranks; ++n) first_[n + 1] += first_[n];
    out_.resize(topology.links.size());
    std::vector<int> at(first_.begin(), first_.end() - 1);
    for (std::size_t l = 0; l < out_.size(); ++l) out_[at[topology.links[l].src]++] = static_cast<LinkId>(l);
  }

  std::vector<std::int64_t> from(const RankSet& sources) const {
    if (!timed_)
      return cheapest_paths(topology_.ranks, sources, std::int64_t{0}, kUnreached,
                            [&](Rank n, std::int64_t so_far, const auto& reach) {
                              for (int i = first_[n]; i < first_[n + 1]; ++i)
                                reach(topology_.links[out_[i]].dst, out_[i],
                                      so_far + weights_.front()[out_[i]]);
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
  std::vector<std::vector<std::int64_t>> weights_ = {};  // by step, by link
  std::vector<int> first_ = {};                          // of a rank's links in out_
  std::vector<LinkId> out_ = {};
};

}  // namespace

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
  if (payment.bound.per_round == 0 || payment.bound.per_round == kMost) return std::nullopt;
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
  if (owed >= kMost) return std::nullopt;
  payment.bound.owed = static_cast<std::int64_t>(owed);
  payment.bound.prices = std::move(prices);
  return payment;
}

}  // namespace chorale
