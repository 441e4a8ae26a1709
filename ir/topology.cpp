// Graph queries that every room needs. Distances are in links, by breadth-first search over an array of
// neighbours that is built once per machine (HopCounts).
#include "ir/topology.h"

#include <algorithm>

namespace chorale {

// Bounds, prices and claims are about the machine below chosen routes.
Topology with_switches(const Topology& topology) {
  if (!topology.underlay) return topology;
  return {.name = topology.name,
          .ranks = topology.ranks,
          .switches = topology.underlay->switches,
          .links = topology.underlay->links,
          .limits = topology.underlay->limits,
          .call_us = topology.call_us,
          .labels = topology.labels};
}

std::string limit_kind(const SharedLimit& limit) {
  const std::size_t end = limit.name.find_last_not_of(" 0123456789");
  return end == std::string::npos ? limit.name : limit.name.substr(0, end + 1);
}

std::string node_kind(const Topology& topology, Node node) {
  if (node < std::ssize(topology.labels) && !topology.labels[node].kind.empty())
    return topology.labels[node].kind;
  return node < topology.ranks ? "rank" : "switch";
}

// Before and after switches are removed: then limits have the abilities that switches had.
Abilities abilities_of(const Topology& topology) {
  Abilities all;
  const auto add = [&all](const Abilities& some) {
    all.multicast = all.multicast || some.multicast;
    all.reduce = all.reduce || some.reduce;
  };
  for (const Abilities& of_switch : topology.abilities) add(of_switch);
  for (const SharedLimit& limit : topology.limits) add(limit.abilities);
  return all;
}

std::string in_words(const Abilities& abilities) {
  if (!abilities.multicast) return abilities.reduce ? "reduce" : "";
  return abilities.reduce ? "multicast and reduce" : "multicast";
}

// The dual of a machine: what multicasts reduces, and vice versa. Links keep their numbers; the route of a
// link is walked from its other end.
Topology reversed(const Topology& topology) {
  Topology result = topology;
  for (Link& link : result.links) std::swap(link.src, link.dst);
  for (SharedLimit& limit : result.limits) {
    std::swap(limit.abilities.multicast, limit.abilities.reduce);
    for (Cable& cable : limit.cables) std::swap(cable.src, cable.dst);
  }
  for (Abilities& of_switch : result.abilities) std::swap(of_switch.multicast, of_switch.reduce);
  if (!result.underlay) return result;
  for (Link& link : result.underlay->links) std::swap(link.src, link.dst);
  for (std::vector<LinkId>& way : result.underlay->routes) std::ranges::reverse(way);
  return result;
}

LinkId find_link(const Topology& topology, Node src, Node dst) {
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
    if (topology.links[l].src == src && topology.links[l].dst == dst) return l;
  return -1;
}

// Compressed rows: the neighbours of node n are ends_[first_[n]] to ends_[first_[n + 1] - 1].
HopCounts::HopCounts(const Topology& topology)
    : first_(topology.ranks + topology.switches + 1, 0), ends_(topology.links.size()) {
  for (const Link& link : topology.links) ++first_[link.src + 1];
  for (std::size_t n = 1; n < first_.size(); ++n) first_[n] += first_[n - 1];
  std::vector<int> at(first_.begin(), first_.end() - 1);
  for (const Link& link : topology.links) ends_[at[link.src]++] = link.dst;
}

// Breadth first, from all ranks of the set at once; it ends early when all nodes have been reached.
std::vector<int> HopCounts::from(const RankSet& ranks) const {
  std::vector<int> distance(first_.size() - 1, -1);
  std::vector<Node> queue(ranks.begin(), ranks.end());
  for (const Node n : ranks) distance[n] = 0;
  for (std::size_t i = 0; i < queue.size() && queue.size() < distance.size(); ++i)
    for (int e = first_[queue[i]]; e < first_[queue[i] + 1]; ++e)
      if (distance[ends_[e]] < 0) {
        distance[ends_[e]] = distance[queue[i]] + 1;
        queue.push_back(ends_[e]);
      }
  return distance;
}

std::vector<int> hops(const Topology& topology, const RankSet& from) {
  return HopCounts(topology).from(from);
}

// If node 0 reaches all, and all reach node 0, then any node reaches any other by way of it.
bool all_reach_all(const Topology& topology) {
  const auto reaches_all = [](const Topology& t) { return std::ranges::min(hops(t, {0})) >= 0; };
  return topology.ranks + topology.switches == 0 ||
         (reaches_all(topology) && reaches_all(reversed(topology)));
}

// A step ends when its slowest link does.
double step_alpha_us(const Topology& topology) {
  double worst = 0;
  for (const Link& link : topology.links) worst = std::max(worst, link.alpha_us);
  return worst;
}

double round_beta_us_per_byte(const Topology& topology) {
  double worst = 0;
  for (const Link& link : topology.links) worst = std::max(worst, link.beta_us_per_byte);
  return worst;
}

}  // namespace chorale
