// The best of a few families of partitions: single ranks, what fast links connect, the weakest ones,
// and what a climb finds (partition_climb.h). A partition is priced only if by its crossings it
// could win. All 4,140 partitions of eight ranks were tried, too, where sums meet limits, and found nothing
// that the climb had missed.
//
// Invariant: `best_` is the best partition met with prices that charge each crossing link at least m; every
// other partition is compared as a fraction, crossings * m over budget. Coarser is not weaker: two groups
// have little bandwidth between them and need few crossings, single ranks need the most crossings and have
// all links for them, so neither end can be left out.
#include "bounds/partitions.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "bounds/cuts.h"
#include "bounds/partition_climb.h"
#include "graph/max_flow.h"
#include "ir/disjoint_sets.h"
#include "ir/topology.h"

namespace chorale {
namespace {

// The weakest partition of a network: the groups with the least bandwidth between them for their number.
//
// minimise K(P) / (|P| - 1), K(P) the bandwidth that leaves the groups of P (Cunningham: Optimal attack and
// reinforcement of a network, 1985). Newton's method on the quotient; for a guess x, the partition with the
// least sum of out(S) - x over its groups S comes from the greedy algorithm for the Dilworth truncation, one
// minimum cut a rank (Barahona; Frank). Exact without shared limits. With limits over links that leave one
// rank, out(S) counts the limit where that is less.
//
// Newton's method: each partition gives a ratio K / (groups - 1), the next one minimises K - ratio * groups,
// and is strictly weaker, or there is none. That minimum is the lower Dilworth truncation of a submodular
// function: ranks come one after the other, each gets the largest y that no set so far forbids (one minimum
// cut), and tight sets that meet are joined.
//
// Why greedy is right: scale * out(S) - x is submodular on sets that meet, and for such functions the greedy
// vector y is as large as any, with the tight sets closed under union where they meet; the groups that they
// leave are a partition whose sum is that of y, which no partition is below. All is in integers: a guess x is
// a fraction, and both sides are multiplied by its denominator. Cost: a minimum cut a rank for each guess,
// and a network each, since the sink takes in all ranks that have not come yet.

using Group = std::vector<int>;  // by rank

// Ranks that links for which `joins` holds connect, through switches, too; groups are named by one of their
// nodes.
template <typename Joins>
Group connected(const Topology& machine, const Joins& joins) {
  DisjointSets joined(machine.ranks + machine.switches);
  for (LinkId l = 0; l < std::ssize(machine.links); ++l)
    if (joins(l)) joined.join(machine.links[l].src, machine.links[l].dst);
  Group group;
  for (Rank n = 0; n < machine.ranks; ++n) group.push_back(joined.find(n));
  return group;
}

// A limit that is split off its rank as a node: what leaves through these links passes it first.
struct OutPort {
  Rank rank = 0;
  std::int64_t bandwidth = 0;
};

class WeakestPartition {
 public:
  explicit WeakestPartition(const Topology& topology)
      : topology_(topology), port_of_(topology.links.size(), -1) {
    for (const SharedLimit& limit : topology.limits) {
      const bool one_rank = std::all_of(limit.links.begin(), limit.links.end(), [&](LinkId l) {
        return port_of_[l] < 0 && topology.links[l].src == topology.links[limit.links.front()].src;
      });
      if (!one_rank || limit.links.empty()) continue;
      for (LinkId l : limit.links) port_of_[l] = static_cast<int>(ports_.size());
      ports_.push_back({.rank = topology.links[limit.links.front()].src, .bandwidth = limit.bandwidth});
    }
  }

  // All that Newton's method meets, from single ranks to the weakest; groups are named by one of their ranks.
  std::vector<Group> run() {
    Group group = single_ranks(topology_.ranks);
    // All are returned, since collectives other than AllReduce count crossings differently and may do better
    // with one of the others.
    std::vector<Group> met = {group};
    // Each partition is strictly weaker than the one before.
    for (;;) {
      const std::int64_t groups = static_cast<std::int64_t>(std::set<int>(group.begin(), group.end()).size());
      if (groups < 2) return met;
      const std::int64_t k = leaving(group);
      group = least_sum(k, groups - 1);
      const std::int64_t better = static_cast<std::int64_t>(std::set<int>(group.begin(), group.end()).size());
      if (better < 2 || leaving(group) * (groups - 1) >= k * (better - 1)) return met;
      met.push_back(group);
    }
  }

 private:
  // K of the partition.
  std::int64_t leaving(const Group& group) const {
    std::vector<std::int64_t> through(ports_.size(), 0);
    std::int64_t sum = 0;
    for (std::size_t l = 0; l < port_of_.size(); ++l) {
      const Link& link = topology_.links[l];
      if (group[link.src] == group[link.dst]) continue;
      (port_of_[l] < 0 ? sum : through[port_of_[l]]) += link.bandwidth;
    }
    for (std::size_t p = 0; p < through.size(); ++p) sum += std::min(through[p], ports_[p].bandwidth);
    return sum;
  }

  // The partition with the least sum of scale * out(S) - x over its groups. Rank after rank gets the largest
  // y such that no set S of the ranks so far has y(S) > scale * out(S) - x; sets that are tight become one
  // group with what they meet.
  Group least_sum(std::int64_t x, std::int64_t scale) const {
    Group group = single_ranks(topology_.ranks);
    std::vector<std::int64_t> y;
    for (Rank v = 0; v < topology_.ranks; ++v) {
      const int sink = topology_.ranks + static_cast<int>(ports_.size());
      MaxFlow flow(sink + 1);
      const auto node = [&](Rank n) { return n <= v ? n : sink; };
      for (std::size_t p = 0; p < ports_.size(); ++p)
        if (ports_[p].rank <= v)
          flow.add_arc(ports_[p].rank, topology_.ranks + static_cast<int>(p), ports_[p].bandwidth * scale);
      for (std::size_t l = 0; l < port_of_.size(); ++l) {
        const Link& link = topology_.links[l];
        if (link.src <= v)
          flow.add_arc(port_of_[l] < 0 ? link.src : topology_.ranks + port_of_[l], node(link.dst),
                       link.bandwidth * scale);
      }
      std::int64_t gains = 0;
      for (Rank u = 0; u < v; ++u) {
        // The cut is to be least in scale * out(S) - y(S): a rank with a gain pays it when left outside, a
        // rank with a loss pays it inside. The flow less all gains is that.
        if (y[u] > 0) flow.add_arc(v, u, y[u]);
        if (y[u] < 0) flow.add_arc(u, sink, -y[u]);
        gains += std::max<std::int64_t>(0, y[u]);
      }
      y.push_back(flow.run(v, sink) - gains - x);
      flow.find_cut();
      // S is tight now. Sets that were tight before and meet it are tight with it.
      std::set<int> joined;
      for (Rank u = 0; u <= v; ++u)
        if (flow.on_source_side(u)) joined.insert(group[u]);
      for (int& g : group)
        if (joined.contains(g)) g = *joined.begin();
    }
    return group;
  }

  const Topology& topology_;
  std::vector<int> port_of_ = {};  // by link, -1 for none
  std::vector<OutPort> ports_ = {};
};

constexpr int kMostRanksParted = 512;  // of the weakest partition: a few flows a rank

class PartitionSearch {
 public:
  PartitionSearch(const Topology& topology, const Collective& collective, const std::atomic<bool>* stop)
      : topology_(topology), stop_(stop), crossings_(collective) {}

  std::optional<PartitionBound> run() {
    consider(single_ranks(topology_.ranks));
    for (const Group& group : connected_by_fast_links()) consider(group);
    if (topology_.ranks <= kMostRanksParted && !stopped())
      for (const Group& group : WeakestPartition(topology_).run()) consider(group);
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

  // Without shared limits, for chunks of all ranks, these are exact.
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
    for (int least : std::set<int>(speed.begin(), speed.end()))
      groups.insert(connected(topology_, [&](LinkId l) { return speed[l] >= least; }));
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

  // What a link between groups costs at least.
  std::int64_t least_crossing(const Prices& prices, const Group& group) const {
    const std::vector<std::int64_t> w = link_weights(topology_, prices);
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
    found.bound = {.prices = {prices},
                   .owed = crossing * least_crossing(prices, group),
                   .per_round = paid_per_round(topology_, prices)};
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

// A send between groups takes some path through switches, which leaves its group over a minimum cut between
// the group's ranks and the other ranks. All these cuts together, a price 1 on each of their links, make
// every send between groups pay at least 1, whichever path it takes; and so do the cuts of the incoming
// sends. Paths end at the first rank, but a flow that went on through another rank would only make the cut
// wider, and the bound weaker.
namespace {

constexpr int kMostRanks = 256;               // of a climb: each price is a flow for each group
constexpr long long kClimbWork = 10'000'000;  // links and terminals examined

// CapacityNetwork between nodes of which some are switches.
class FabricCuts {
 public:
  explicit FabricCuts(const Topology& machine) : machine_(machine) {
    Topology nodes = machine;
    nodes.ranks += std::exchange(nodes.switches, 0);
    network_ = capacity_network(nodes);
    for (const Link& link : machine.links) ample_ += link.bandwidth;
  }

  // Prices such that what leaves a group pays, or with `into` what comes into one.
  PriceBound cover(const Group& groups, bool into) const {
    PriceBound bound{.prices = {no_prices(machine_)}, .per_round = 0};
    Prices& prices = bound.prices.front();
    std::set<int> names(groups.begin(), groups.end());
    for (const int name : names) {
      MaxFlow flow(network_.nodes + 2);
      const int source = network_.nodes, sink = source + 1;
      std::vector<int> arcs;
      for (const NetworkArc& arc : network_.arcs)
        arcs.push_back(flow.add_arc(into ? arc.to : arc.from, into ? arc.from : arc.to, width_of(arc)));
      for (Rank n = 0; n < machine_.ranks; ++n)
        groups[n] == name ? flow.add_arc(source, n, ample_) : flow.add_arc(n, sink, ample_);
      flow.run(source, sink);
      flow.find_cut();
      for (std::size_t w = 0; w < arcs.size(); ++w) {
        const NetworkArc& arc = network_.arcs[w];
        if (flow.in_cut(arcs[w])) (arc.link >= 0 ? prices.links[arc.link] : prices.limits[arc.limit]) = 1;
      }
    }
    bound.per_round = paid_per_round(machine_, prices);
    return bound;
  }

 private:
  std::int64_t width_of(const NetworkArc& arc) const {
    return arc.link >= 0    ? machine_.links[arc.link].bandwidth
           : arc.limit >= 0 ? machine_.limits[arc.limit].bandwidth
                            : MaxFlow::kUnbounded;
  }

  const Topology& machine_;
  CapacityNetwork network_ = {};
  std::int64_t ample_ = 1;  // more than all links together
};

// Leaves, pods and so on: what switches of at most some distance from ranks join. And what fast links
// connect.
std::set<Group> families(const Topology& machine) {
  std::set<Group> all = {single_ranks(machine.ranks)};
  const std::vector<int> tier = hops(machine, *all.begin());
  for (int most = 1; most <= *std::ranges::max_element(tier); ++most)
    all.insert(connected(machine, [&](LinkId l) {
      const Link& link = machine.links[l];
      return tier[link.src] >= 0 && tier[link.dst] >= 0 && tier[link.src] <= most && tier[link.dst] <= most;
    }));
  std::set<int> widths;
  for (const Link& link : machine.links) widths.insert(link.bandwidth);
  for (const int least : widths)
    all.insert(connected(machine, [&](LinkId l) { return machine.links[l].bandwidth >= least; }));
  return all;
}

}  // namespace

// What the chosen paths carry, the machine carries, so a climb over these names every partition that may be
// the best. The prices are of the machine.
std::optional<PartitionBound> fabric_partition(const Topology& ways, const Collective& collective,
                                               const std::atomic<bool>* stop) {
  const Topology machine = with_switches(ways);
  const FabricCuts cuts(machine);
  const Crossings crossings(collective);
  std::optional<PartitionBound> best;
  const auto consider = [&](const Group& groups) {
    const std::int64_t owed = crossings.of(groups);
    for (const bool into : {false, true}) {
      if (owed == 0 || (stop != nullptr && *stop)) break;
      PriceBound bound = cuts.cover(groups, into);
      bound.owed = owed;
      if (bound.per_round > 0 && (!best || stronger(bound, best->bound)))
        best = PartitionBound{.group = groups, .bound = std::move(bound)};
    }
    return best ? static_cast<double>(best->bound.owed) / static_cast<double>(best->bound.per_round) : 0;
  };
  for (const Group& groups : families(machine)) consider(groups);
  if (ways.ranks <= kMostRanks && crossings.has_wide_trees())
    climb_partitions(ways, crossings, consider, {.work = kClimbWork, .stop = stop});
  return best;
}

}  // namespace chorale
