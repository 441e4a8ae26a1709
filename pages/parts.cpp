// What a machine consists of for a drawing: its switches, found again from its limits (fabric.h), and its
// boxes, the servers. Nodes are ranks first, then switches.
#include "pages/parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

using Groups = std::vector<std::vector<Rank>>;

// Undirected; each group by its least member.
Groups components(int nodes, const std::vector<std::pair<int, int>>& joined) {
  DisjointSets sets(nodes);
  for (const auto& [a, b] : joined) sets.join(a, b);
  std::map<int, std::vector<Rank>> by_least;
  for (int n = 0; n < nodes; ++n) by_least[sets.find(n)].push_back(n);
  Groups groups;
  for (auto& [least, group] : by_least) groups.push_back(std::move(group));
  return groups;
}

// One box, or boxes of one rank, would frame nothing.
bool are_boxes(const Groups& groups) {
  return groups.size() > 1 &&
         std::all_of(groups.begin(), groups.end(), [](const auto& group) { return group.size() > 1; });
}

// Servers: what is joined by links with less alpha than the most; or what is on one of several equal
// switches, if every rank is on one of these: of several such partitions of the ranks, that of the switches
// with the most bandwidth.
Groups boxes_of(const Topology& t, const Fabric& fabric) {
  const double most = step_alpha_us(t);
  std::vector<std::pair<int, int>> near;
  for (const Link& l : t.links)
    if (l.alpha_us < most) near.emplace_back(l.src, l.dst);
  Groups groups = components(t.ranks, near);
  if (are_boxes(groups)) return groups;

  std::vector<std::set<Rank>> on(fabric.switches.size());
  std::vector<int> bandwidth(fabric.switches.size(), 0);
  for (std::size_t l = 0; l < t.links.size(); ++l)
    for (Node s : fabric.through[l]) {
      on[s - t.ranks].insert({t.links[l].src, t.links[l].dst});
      bandwidth[s - t.ranks] = std::max(bandwidth[s - t.ranks], t.links[l].bandwidth);
    }
  std::map<std::pair<int, std::size_t>, Groups> equal;  // by bandwidth, then size
  for (std::size_t s = 0; s < on.size(); ++s)
    equal[{bandwidth[s], on[s].size()}].emplace_back(on[s].begin(), on[s].end());
  for (auto e = equal.rbegin(); e != equal.rend(); ++e) {
    std::size_t sum = 0;
    std::set<Rank> covered;
    for (const std::vector<Rank>& group : e->second) {
      sum += group.size();
      covered.insert(group.begin(), group.end());
    }
    if (are_boxes(e->second) && sum == covered.size() && covered.size() == static_cast<std::size_t>(t.ranks))
      return e->second;
  }
  return {};
}

}  // namespace

std::vector<int> stops(const Parts& parts, LinkId l) {
  std::vector<int> nodes = {parts.t.links[l].src};
  nodes.insert(nodes.end(), parts.fabric.through[l].begin(), parts.fabric.through[l].end());
  nodes.push_back(parts.t.links[l].dst);
  return nodes;
}

// Neighbours are along paths through switches: a link over two switches joins a rank with the first of them
// only.
Parts parts_of(const Topology& t, DrawingWork& work) {
  Parts parts{.t = t, .fabric = fabric_of(t), .work = &work};
  parts.boxes = boxes_of(t, parts.fabric);
  parts.near.resize(t.ranks + parts.switches());
  for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l) {
    const std::vector<int> nodes = stops(parts, l);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      parts.near[nodes[i - 1]].insert(nodes[i]);
      parts.near[nodes[i]].insert(nodes[i - 1]);
    }
  }
  return parts;
}

// The neighbourhood within a set of nodes, by positions in that set; sorted, as graphs here are.
Graph graph_among(const Parts& parts, const std::vector<int>& nodes) {
  std::map<int, int> number;
  for (int n : nodes) number.emplace(n, static_cast<int>(number.size()));
  Graph g(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (int next : parts.near[nodes[i]])
      if (const auto found = number.find(next); found != number.end()) g[i].push_back(found->second);
  for (std::vector<int>& next : g) std::sort(next.begin(), next.end());
  return g;
}

}  // namespace chorale
