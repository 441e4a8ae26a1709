// A link up of a switch is as fast as the links of all its hosts together, over the taper of its tier: 8
// hosts of 25 GB/s at a taper of 2 make 100 GB/s. Hosts of other jobs count for its speed and not for its
// load. Switches that have none or all of the job's hosts below them cut nothing and are left out. A chain of
// switches with the same hosts is as one link, as fast as its slowest.
#include "placement/node_tree.h"

#include <algorithm>
#include <map>

namespace chorale {
namespace {

struct SwitchCounts {
  std::vector<int> all, wanted, level;  // hosts below it, those of the job; 0: hosts hang on it
};

// Each host counts at all switches above it; the level of a switch is that of the farthest host below it.
SwitchCounts counts_of(const Allocation& allocation) {
  const SwitchTree& tree = allocation.cluster;
  SwitchCounts counts{.all = std::vector(tree.switches.size(), 0),
                      .wanted = std::vector(tree.switches.size(), 0),
                      .level = std::vector(tree.switches.size(), 0)};
  for (const int leaf : tree.leaf) {
    int level = 0;
    for (int s = leaf; s >= 0; s = tree.above[s], ++level) {
      ++counts.all[s];
      counts.level[s] = std::max(counts.level[s], level);
    }
  }
  for (const int host : allocation.hosts)
    for (int s = tree.leaf[host]; s >= 0; s = tree.above[s]) ++counts.wanted[s];
  return counts;
}

}  // namespace

// Searches climb the tree by `above`; bounds go down it, so the inverse is made here.
std::vector<std::vector<int>> NodeTree::below_uplinks() const {
  std::vector<std::vector<int>> below(uplinks.size() + 1);
  for (std::size_t u = 0; u < uplinks.size(); ++u)
    below[uplinks[u].above < 0 ? uplinks.size() : static_cast<std::size_t>(uplinks[u].above)].push_back(
        static_cast<int>(u));
  return below;
}

std::vector<std::vector<int>> NodeTree::above_leaves() const {
  std::vector<std::vector<int>> above(leaves.size());
  for (std::size_t l = 0; l < leaves.size(); ++l)
    for (int u = leaves[l].uplink; u >= 0; u = uplinks[u].above) above[l].push_back(u);
  return above;
}

NodeTree node_tree(const Allocation& allocation, const NetworkRates& rates) {
  const SwitchTree& cluster = allocation.cluster;
  const SwitchCounts counts = counts_of(allocation);
  const int all = static_cast<int>(allocation.hosts.size());
  const auto is_cut = [&](int s) { return counts.wanted[s] > 0 && counts.wanted[s] < all; };
  NodeTree tree{.node_gbs = rates.node_gbs};
  std::vector<int> uplink(cluster.switches.size(), -1), in_order;
  for (int s = 0; s < static_cast<int>(cluster.switches.size()); ++s)
    if (is_cut(s)) in_order.push_back(s);
  // By level, so that a switch comes after those below it, and a chain is joined from its lowest switch on.
  std::ranges::stable_sort(in_order, {}, [&](int s) { return counts.level[s]; });
  for (const int s : in_order) {
    const std::size_t tier = std::min<std::size_t>(counts.level[s], rates.tapers.size() - 1);
    const double gbs = counts.all[s] * rates.node_gbs / rates.tapers[tier];
    // A switch with one that has all of the same hosts is joined to it.
    const auto below = std::ranges::find_if(in_order, [&](int b) {
      return uplink[b] >= 0 && cluster.above[b] == s && counts.wanted[b] == counts.wanted[s];
    });
    if (below != in_order.end()) {
      uplink[s] = uplink[*below];
      if (gbs < tree.uplinks[uplink[s]].gbs) {
        tree.uplinks[uplink[s]].gbs = gbs;
        tree.uplinks[uplink[s]].name = cluster.switches[s];
      }
      continue;
    }
    uplink[s] = static_cast<int>(tree.uplinks.size());
    tree.uplinks.push_back({.name = cluster.switches[s], .gbs = gbs, .hosts = counts.wanted[s]});
  }
  for (const int s : in_order) {
    const int above = cluster.above[s];
    if (above >= 0 && is_cut(above) && uplink[above] != uplink[s])
      tree.uplinks[uplink[s]].above = uplink[above];
  }
  // Leaves in the order in which the list of hosts comes to them.
  std::map<int, int> leaf_at;  // by switch
  for (int h = 0; h < all; ++h) {
    const int s = cluster.leaf[allocation.hosts[h]];
    const auto [at, is_new] = leaf_at.emplace(s, static_cast<int>(tree.leaves.size()));
    if (is_new) tree.leaves.push_back({.uplink = uplink[s]});
    tree.leaves[at->second].hosts.push_back(h);
  }
  return tree;
}

}  // namespace chorale
