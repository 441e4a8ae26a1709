// A send between groups takes some path through switches, which leaves its group over a minimum cut between
// the group's ranks and the other ranks. All these cuts together, a price 1 on each of their links, make
// every send between groups pay at least 1, whichever path it takes; and so do the cuts of the incoming
// sends. Paths end at the first rank, but a flow that went on through another rank would only make the cut
// wider, and the bound weaker.
#include "bounds/fabric_partition.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "bounds/capacity_network.h"
#include "bounds/crossings.h"
#include "bounds/partition_climb.h"
#include "graph/max_flow.h"

namespace chorale {
namespace {

using Groups = std::vector<int>;  // by rank

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
  PriceBound cover(const Groups& groups, bool into) const {
    PriceBound bound{.prices = {{.links = std::vector<int>(machine_.links.size(), 0),
                                 .limits = std::vector<int>(machine_.limits.size(), 0)}},
                     .per_round = 0};
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
    for (std::size_t l = 0; l < prices.links.size(); ++l)
      bound.per_round += std::int64_t{prices.links[l]} * machine_.links[l].bandwidth;
    for (std::size_t z = 0; z < prices.limits.size(); ++z)
      bound.per_round += std::int64_t{prices.limits[z]} * machine_.limits[z].bandwidth;
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

Groups renamed(const Groups& by_node, int ranks) {
  std::map<int, int> names;
  Groups groups;
  for (Rank n = 0; n < ranks; ++n)
    groups.push_back(names.try_emplace(by_node[n], static_cast<int>(names.size())).first->second);
  return groups;
}

// Nodes that links for which `joins` holds connect.
template <typename Joins>
Groups connected(const Topology& machine, const Joins& joins) {
  Groups by_node(machine.ranks + machine.switches);
  std::iota(by_node.begin(), by_node.end(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t l = 0; l < machine.links.size(); ++l) {
      int &a = by_node[machine.links[l].src], &b = by_node[machine.links[l].dst];
      if (a == b || !joins(machine.links[l])) continue;
      a = b = std::min(a, b);
      changed = true;
    }
  }
  return renamed(by_node, machine.ranks);
}

// Leaves, pods and so on: what switches of at most some distance from ranks join. And what fast links
// connect.
std::set<Groups> families(const Topology& machine) {
  Groups alone(machine.ranks);
  std::iota(alone.begin(), alone.end(), 0);
  std::set<Groups> all = {alone};
  std::vector<Rank> ranks = alone;
  const std::vector<int> tier = hops(machine, ranks);
  for (int most = 1; most <= *std::ranges::max_element(tier); ++most)
    all.insert(connected(machine, [&](const Link& link) {
      return tier[link.src] >= 0 && tier[link.dst] >= 0 && tier[link.src] <= most && tier[link.dst] <= most;
    }));
  std::set<int> widths;
  for (const Link& link : machine.links) widths.insert(link.bandwidth);
  for (const int least : widths)
    all.insert(connected(machine, [&](const Link& link) { return link.bandwidth >= least; }));
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
  const auto consider = [&](const Groups& groups) {
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
  for (const Groups& groups : families(machine)) consider(groups);
  if (ways.ranks <= kMostRanks && crossings.has_wide_trees())
    climb_partitions(ways, crossings, consider, {.work = kClimbWork, .stop = stop});
  return best;
}

}  // namespace chorale
