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

// Servers: what is joined by links with less alpha than others, at the border of the least alpha that makes
// groups of all ranks.
Groups boxes_of(const Topology& t) {
  std::set<double> alphas;
  for (const Link& l : t.links) alphas.insert(l.alpha_us);
  for (const double alpha : alphas) {
    std::vector<std::pair<int, int>> near;
    for (const Link& l : t.links)
      if (l.alpha_us < alpha) near.emplace_back(l.src, l.dst);
    if (Groups groups = components(t.ranks, near); are_boxes(groups)) return groups;
  }
  return {};
}

// The links between servers that no switch was found for and that share a limit at both of their ends, as
// those of NICs do; by alpha.
std::map<double, std::vector<LinkId>> links_of_nics(const Topology& t, const Groups& boxes,
                                                    const Fabric& fabric) {
  std::vector<int> box_of(t.ranks);
  for (std::size_t b = 0; b < boxes.size(); ++b)
    for (const Rank r : boxes[b]) box_of[r] = static_cast<int>(b);
  const auto is_far = [&](LinkId l) { return box_of[t.links[l].src] != box_of[t.links[l].dst]; };
  std::vector<bool> out(t.links.size()), in(t.links.size());
  for (const SharedLimit& limit : t.limits) {
    if (limit.links.empty() || !std::ranges::all_of(limit.links, is_far)) continue;
    const Link& first = t.links[limit.links.front()];
    const auto from = [&](LinkId l) { return box_of[t.links[l].src] == box_of[first.src]; };
    const auto to = [&](LinkId l) { return box_of[t.links[l].dst] == box_of[first.dst]; };
    if (std::ranges::all_of(limit.links, from))
      for (const LinkId l : limit.links) out[l] = true;
    if (std::ranges::all_of(limit.links, to))
      for (const LinkId l : limit.links) in[l] = true;
  }
  std::map<double, std::vector<LinkId>> by_alpha;
  for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l)
    if (is_far(l) && out[l] && in[l] && fabric.through[l].empty()) by_alpha[t.links[l].alpha_us].push_back(l);
  return by_alpha;
}

// A network of levels, which limits state at NICs only: what links of equal alpha join, from the least on, is
// a switch. Leaves are above the ranks, and spines above these. Few links of a rank need none.
void add_network(const Topology& t, const Groups& boxes, Fabric& fabric) {
  constexpr std::size_t kFewLinksOfRank = 4;
  auto far = links_of_nics(t, boxes, fabric);
  while (far.size() > 2) {  // all but the nearest go over one network
    const auto second = std::next(far.begin());
    far.rbegin()->second.insert(far.rbegin()->second.end(), second->second.begin(), second->second.end());
    far.erase(second);
  }
  std::size_t count = 0;
  for (const auto& [alpha, links] : far) count += links.size();
  if (boxes.empty() || count <= kFewLinksOfRank * t.ranks) return;
  std::vector<int> above(t.ranks + fabric.switches.size(), -1);
  const auto way_up = [&](int n) {
    std::vector<Node> way = {n};
    while (above[way.back()] >= 0) way.push_back(above[way.back()]);
    return way;
  };
  for (const auto& [alpha, links] : far) {
    std::vector<std::pair<int, int>> joined;
    for (const LinkId l : links)
      joined.emplace_back(way_up(t.links[l].src).back(), way_up(t.links[l].dst).back());
    const bool last = alpha == far.rbegin()->first;
    for (const std::vector<int>& group : components(static_cast<int>(above.size()), joined)) {
      if (group.size() < 2) continue;
      for (const int n : group) above[n] = static_cast<int>(above.size());
      fabric.switches.push_back((last ? "network " : "leaf ") + std::to_string(above.size() - t.ranks));
      above.push_back(-1);
    }
  }
  for (const auto& [alpha, links] : far)
    for (const LinkId l : links) {
      std::vector<Node> up = way_up(t.links[l].src), down = way_up(t.links[l].dst);
      while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
        up.pop_back();
        down.pop_back();
      }
      up.insert(up.end(), down.rbegin() + 1, down.rend());
      fabric.through[l].assign(up.begin() + 1, up.end() - 1);
    }
}

// Are the ranks of each server joined within it, and switches without ranks, which there are, joined with
// those of ranks alone? Then spines are above leaves, or a network above NICs.
bool have_spines(const Parts& parts) {
  const int ranks = parts.t.ranks, nodes = static_cast<int>(parts.near.size());
  bool spines = false;
  std::vector<std::pair<int, int>> within;
  std::vector<std::size_t> box_of(ranks);
  for (std::size_t b = 0; b < parts.boxes.size(); ++b)
    for (const Rank r : parts.boxes[b]) box_of[r] = b;
  const auto is_rank = [&](int n) { return n < ranks; };
  for (int a = 0; a < nodes; ++a) {
    const std::set<int>& near = parts.near[a];
    const auto in_one_box = [&](int n) { return is_rank(n) && box_of[n] == box_of[*near.begin()]; };
    if (is_rank(a)) {
      for (const int b : near)
        if (is_rank(b) && box_of[a] == box_of[b]) within.emplace_back(a, b);
    } else if (std::ranges::none_of(near, is_rank)) {
      spines = true;
      for (const int leaf : near)
        if (std::ranges::none_of(parts.near[leaf], is_rank)) return false;
    } else if (std::ranges::all_of(near, in_one_box)) {
      for (const int b : near) within.emplace_back(*near.begin(), b);
    }
  }
  return spines && components(ranks, within).size() == parts.boxes.size();
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
  parts.boxes = boxes_of(t);
  std::set<double> alphas;
  for (const Link& l : t.links) alphas.insert(l.alpha_us);
  if (alphas.size() > 2) parts.word_of_box = "group";
  add_network(t, parts.boxes, parts.fabric);
  parts.near.resize(t.ranks + parts.switches());
  for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l) {
    const std::vector<int> nodes = stops(parts, l);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      parts.near[nodes[i - 1]].insert(nodes[i]);
      parts.near[nodes[i]].insert(nodes[i - 1]);
    }
  }
  parts.has_spines = !parts.boxes.empty() && have_spines(parts);
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
