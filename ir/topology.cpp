#include "ir/topology.h"
#include "construct/connected.h"

#include <algorithm>

namespace chorale {

Topology with_switches(const Topology& topology) {
  if (!topology.underlay) return topology;
  return {.name = topology.name,
          .ranks = topology.ranks,
          .switches = topology.underlay->switches,
          .links = topology.underlay->links,
          .limits = topology.underlay->limits};
}

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

// Breadth first, from all of them at once.
std::vector<int> hops(const Topology& topology, const RankSet& from) {
  const int nodes = topology.ranks + topology.switches;
  // Ends of links, grouped by their sources: bounds of 1,024 ranks request this of each rank.
  std::vector<int> first(nodes + 1, 0);
  for (const Link& link : topology.links) ++first[link.src + 1];
  for (int n = 0; n < nodes; ++n) first[n + 1] += first[n];
  std::vector<Node> ends(topology.links.size());
  std::vector<int> at(first.begin(), first.end() - 1);
  for (const Link& link : topology.links) ends[at[link.src]++] = link.dst;
  std::vector<int> distance(nodes, -1);
  std::vector<Node> queue(from.begin(), from.end());
  for (Node n : from) distance[n] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (int e = first[queue[i]]; e < first[queue[i] + 1]; ++e)
      if (distance[ends[e]] < 0) {
        distance[ends[e]] = distance[queue[i]] + 1;
        queue.push_back(ends[e]);
      }
  return distance;
}

bool all_reach_all(const Topology& topology) {
  const auto reaches_all = [](const Topology& t) { return std::ranges::min(hops(t, {0})) >= 0; };
  return topology.ranks + topology.switches == 0 ||
         (reaches_all(topology) && reaches_all(reversed(topology)));
}

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
