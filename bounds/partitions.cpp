// The best of a few families of partitions: single ranks, what fast links connect, the weakest ones
// (strength.h), and what a climb finds (partition_climb.h). A partition is priced only if by its crossings it
// could win. All 4,140 partitions of eight ranks were tried, too, where sums meet limits, and found nothing
// that the climb had missed.
//
// Invariant: `best_` is the best partition met with prices that charge each crossing link at least m; every
// other partition is compared as a fraction, crossings * m over budget. Coarser is not weaker: two groups
// have little bandwidth between them and need few crossings, single ranks need the most crossings and have
// all links for them, so neither end can be left out.
#include "bounds/partitions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "bounds/cover.h"
#include "bounds/crossings.h"
#include "bounds/partition_climb.h"
#include "bounds/strength.h"

namespace chorale {
namespace {

constexpr int kMostRanksParted = 512;  // of the weakest partition: a few flows a rank

using Group = std::vector<int>;  // by rank

class PartitionSearch {
 public:
  PartitionSearch(const Topology& topology, const Collective& collective, const std::atomic<bool>* stop)
      : topology_(topology), stop_(stop), crossings_(collective) {}

  std::optional<PartitionBound> run() {
    Group singletons(topology_.ranks);
    std::iota(singletons.begin(), singletons.end(), 0);
    consider(singletons);
    for (const Group& group : connected_by_fast_links()) consider(group);
    if (topology_.ranks <= kMostRanksParted && !stopped())
      for (const Group& group : weak_partitions(topology_)) consider(group);
    if (crossings_.has_wide_trees() && !weakest_is_best()) search();
    return std::move(best_);
  }

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }

  // On large machines the sides of their numbers alone.
  void search() {
    if (topology_.ranks > kMostRanksParted) {
      for (const Group& group : number_partitions(topology_.ranks)) consider(group);
      return;
    }
    climb_partitions(topology_, crossings_,
                     [this](const Group& group) {
                       consider(group);
                       return ratio();
                     },
                     {.stop = stop_});
  }

  // Without shared limits, for chunks of all ranks, strength.h is exact.
  bool weakest_is_best() const {
    return topology_.limits.empty() && crossings_.others().empty() &&
           std::ranges::all_of(crossings_.trees(), [this](const Terminals& tree) {
             return static_cast<int>(tree.ranks.size()) == topology_.ranks;
           });
  }

  // Ranks that links of at least some bandwidth connect; a link under a limit is as fast as the limit.
  std::set<Group> connected_by_fast_links() const {
    std::vector<int> speed;
    for (const Link& link : topology_.links) speed.push_back(link.bandwidth);
    for (const SharedLimit& limit : topology_.limits)
      for (LinkId l : limit.links) speed[l] = std::min(speed[l], limit.bandwidth);
    std::set<Group> groups;
    // Nodes of a cluster come out of this: without the slow links between nodes, what is left connected are
    // the nodes.
    for (int least : std::set<int>(speed.begin(), speed.end())) {
      Group group(topology_.ranks);
      std::iota(group.begin(), group.end(), 0);
      for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t l = 0; l < speed.size(); ++l) {
          if (speed[l] < least) continue;
          int& a = group[topology_.links[l].src];
          int& b = group[topology_.links[l].dst];
          if (a != b) {
            a = b = std::min(a, b);
            changed = true;
          }
        }
      }
      groups.insert(group);
    }
    return groups;
  }

  // What prices of crossing links pay a round at the least, but for what rounding takes.
  double least_budget(const Group& group) const {
    constexpr double kRounding = 1 - 1e-9;
    double sum = 0;
    for (const double share : fair_shares(topology_, crossing_links(topology_, group))) sum += share;
    return sum * kRounding;
  }

  double ratio() const {
    return best_ ? static_cast<double>(best_->bound.owed) / static_cast<double>(best_->bound.per_round) : 0;
  }

  std::int64_t budget_of(const Prices& prices) const {
    std::int64_t sum = 0;
    for (std::size_t l = 0; l < prices.links.size(); ++l)
      sum += std::int64_t{prices.links[l]} * topology_.links[l].bandwidth;
    for (std::size_t z = 0; z < prices.limits.size(); ++z)
      sum += std::int64_t{prices.limits[z]} * topology_.limits[z].bandwidth;
    return sum;
  }

  // What a link between groups costs at least.
  std::int64_t least_crossing(const Prices& prices, const Group& group) const {
    std::vector<std::int64_t> w(prices.links.begin(), prices.links.end());
    for (std::size_t z = 0; z < prices.limits.size(); ++z)
      for (LinkId l : topology_.limits[z].links) w[l] += prices.limits[z];
    std::int64_t least = INT32_MAX;
    for (std::size_t l = 0; l < w.size(); ++l)
      if (group[topology_.links[l].src] != group[topology_.links[l].dst]) least = std::min(least, w[l]);
    return least;
  }

  void consider(const Group& group) {
    if (stopped()) return;
    const std::int64_t crossing = crossings_.of(group);
    if (crossing == 0) return;
    PartitionBound found{.group = group};
    // First without prices: most partitions lose.
    if (best_ && static_cast<double>(crossing) < ratio() * least_budget(group)) return;
    const Prices prices = cheapest_cover(topology_, crossing_links(topology_, group));
    found.bound = {
        .prices = {prices}, .owed = crossing * least_crossing(prices, group), .per_round = budget_of(prices)};
    if (found.bound.per_round > 0 && (!best_ || stronger(found.bound, best_->bound)))
      best_ = std::move(found);
  }

  const Topology& topology_;
  const std::atomic<bool>* const stop_;
  const Crossings crossings_;
  std::optional<PartitionBound> best_ = {};
};

}  // namespace

// Limits that count several sends once bound no crossings: to the search they are not there.
std::optional<PartitionBound> best_partition(const Topology& topology, const Collective& collective,
                                             const std::atomic<bool>* stop) {
  Topology plain = topology;
  std::erase_if(plain.limits, [&](const SharedLimit& limit) {
    return limit.abilities.multicast || (limit.abilities.reduce && collective.combining);
  });
  if (plain.limits.size() == topology.limits.size()) return PartitionSearch(topology, collective, stop).run();
  std::optional<PartitionBound> found = PartitionSearch(plain, collective, stop).run();
  if (!found) return found;
  for (Prices& prices : found->bound.prices) {
    std::vector<int> all;
    auto next = prices.limits.begin();
    for (const SharedLimit& limit : topology.limits) {
      const bool kept = next != prices.limits.end() && plain.limits[next - prices.limits.begin()] == limit;
      all.push_back(kept ? *next++ : 0);
    }
    prices.limits = std::move(all);
  }
  return found;
}

}  // namespace chorale
