// What a machine consists of for a drawing: its switches, found again from its limits (by cables,
// or else by ports), and its boxes, the servers. Nodes are ranks first, then switches.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ir/disjoint_sets.h"
#include "ir/node_label.h"
#include "pages/placed.h"

namespace chorale {
namespace {

// What goes in and out of each switch on some link: a rank, or another switch (ranks + its number).
struct Sides {
  std::set<int> in = {}, out = {};
  std::set<std::pair<int, int>> joined = {};
};

std::map<int, Sides> sides_of(const Topology& t, const std::vector<std::vector<int>>& through) {
  std::map<int, Sides> sides;
  for (std::size_t l = 0; l < through.size(); ++l)
    for (std::size_t i = 0; i < through[l].size(); ++i) {
      Sides& s = sides[through[l][i]];
      const int in = i == 0 ? t.links[l].src : t.ranks + through[l][i - 1];
      const int out = i + 1 == through[l].size() ? t.links[l].dst : t.ranks + through[l][i + 1];
      s.in.insert(in);
      s.out.insert(out);
      s.joined.insert({in, out});
    }
  return sides;
}

// An importer makes two of a node that switches, "X out" and "X in", so that no route turns back there; and
// of a network one into each server. In the picture they are one.
std::map<int, int> twins_by_label(const Topology& t) {
  std::map<int, int> twin;
  Node network = -1;
  for (Node n = t.ranks; n < static_cast<Node>(t.labels.size()); ++n) {
    const std::string &name = t.labels[n].name, &before = t.labels[n - 1].name;
    if (t.labels[n].kind == "network" && network >= 0)
      twin[n] = network;
    else if (t.labels[n].kind == "network")
      network = n;
    else if (name.ends_with(" in") && name.substr(0, name.size() - 3) + " out" == before)
      twin[n] = n - 1;
  }
  return twin;
}

// The egress and the ingress switch of a box, found separately: the ranks of one only send into it, those of
// the other only receive.
std::map<int, int> one_way_twins(const Topology& t, const std::vector<std::vector<int>>& through) {
  const std::map<int, Sides> sides = sides_of(t, through);
  std::map<int, int> twin;
  for (const auto& [a, of_a] : sides)
    for (const auto& [b, of_b] : sides)
      if (a < b && of_a.in != of_a.out && of_a.in == of_b.out && of_a.out == of_b.in && !twin.contains(a))
        twin[b] = a;
  return twin;
}

void join_twins(const std::map<int, int>& twin, std::vector<std::vector<int>>& through) {
  for (std::vector<int>& way : through)
    for (int& s : way)
      if (const auto found = twin.find(s); found != twin.end()) s = found->second;
}

// "NVSwitch out" names an NVSwitch; "port in" names a cable, not what it leads to.
std::string switch_name(const std::string& kind_of_limit) {
  const std::string word = kind_of_limit.substr(0, kind_of_limit.find(' '));
  return word.size() <= 16 && word.ends_with("witch") ? word : "switch";
}

// The switches at the ends of the cables; nothing if there are none, or if the cables of some link are not a
// path from its source to its destination.
std::optional<Fabric> fabric_by_cables(const Topology& t) {
  // [link] -> where its cable from a node leads.
  std::vector<std::map<Node, Node>> next(t.links.size());
  for (const SharedLimit& limit : t.limits)
    if (limit.cables.size() == 1)
      for (LinkId l : limit.links) next[l].emplace(limit.cables[0].src, limit.cables[0].dst);
  std::vector<std::vector<Node>> through(t.links.size());
  for (std::size_t l = 0; l < t.links.size(); ++l) {
    if (next[l].empty()) continue;  // a link of its own
    std::vector<Node>& way = through[l];
    for (Node at = t.links[l].src; next[l].contains(at) && way.size() <= next[l].size();)
      way.push_back(at = next[l][at]);
    if (way.size() != next[l].size() || way.size() < 2 || way.back() != t.links[l].dst) return std::nullopt;
    way.pop_back();
    if (std::ranges::any_of(way, [&](Node n) { return n < t.ranks; })) return std::nullopt;
  }
  std::map<Node, Node> twin = twins_by_label(t);
  join_twins(twin, through);
  twin.merge(one_way_twins(t, through));
  join_twins(twin, through);
  Fabric fabric{.by_cables = true, .through = through};
  std::map<Node, Node> number;
  for (std::vector<Node>& way : fabric.through)
    for (Node& n : way) {
      const auto [found, fresh] = number.emplace(n, t.ranks + static_cast<int>(number.size()));
      const std::string kind = node_kind(t, n), label = label_of(t, n);
      if (fresh)
        fabric.switches.push_back(!label.empty() ? label
                                                 : kind + (kind.find(' ') == kind.npos ? "" : " ") +
                                                       std::to_string(n - t.ranks));
      n = found->second;
    }
  if (number.empty()) return std::nullopt;
  for (Rank r = 0; r < t.ranks; ++r) number.emplace(r, r);
  for (const auto& [gone, other] : twin)
    if (number.contains(other)) number.emplace(gone, number.at(other));
  for (const SharedLimit& limit : t.limits)
    if (limit.cables.size() == 1 && number.contains(limit.cables[0].src) &&
        number.contains(limit.cables[0].dst))
      fabric.capacity[{number[limit.cables[0].src], number[limit.cables[0].dst]}] = limit.bandwidth;
  return fabric;
}

// The port of each link at its source, or at its destination: of the limits over links of that rank alone, to
// several others, the one with the most links; -1: none.
std::vector<int> ports_of_links(const Topology& t, Node Link::*here, Node Link::*there) {
  std::vector<int> port(t.links.size(), -1);
  for (int i = 0; i < static_cast<int>(t.limits.size()); ++i) {
    const std::vector<LinkId>& links = t.limits[i].links;
    const auto differs = [&](Node Link::*end) {
      return std::ranges::any_of(links,
                                 [&](LinkId l) { return t.links[l].*end != t.links[links.front()].*end; });
    };
    if (differs(here) || !differs(there)) continue;
    for (const LinkId l : links)
      if (port[l] < 0 || t.limits[port[l]].links.size() < links.size()) port[l] = i;
  }
  return port;
}

// Ports out and in that are on one link meet in a switch. It must switch: each rank that has a port into it
// has a link over it to each other one that has a port out of it.
Fabric fabric_by_ports(const Topology& t) {
  const std::vector<int> out = ports_of_links(t, &Link::src, &Link::dst);
  const std::vector<int> in = ports_of_links(t, &Link::dst, &Link::src);
  DisjointSets meet(static_cast<int>(t.limits.size()));
  std::vector<std::vector<int>> through(t.links.size());
  for (std::size_t l = 0; l < t.links.size(); ++l)
    if (out[l] >= 0 && in[l] >= 0) meet.join(out[l], in[l]);
  for (std::size_t l = 0; l < t.links.size(); ++l)
    if (out[l] >= 0 && in[l] >= 0) through[l] = {meet.find(out[l])};
  std::map<int, Sides> sides = sides_of(t, through);
  std::erase_if(sides, [](const auto& each) {
    const Sides& s = each.second;
    std::size_t pairs = s.in.size() * s.out.size();
    for (const int rank : s.in) pairs -= s.out.contains(rank) ? 1 : 0;
    return s.joined.size() < pairs || s.in.size() + s.out.size() <= 4;  // two ranks need no switch
  });
  Fabric fabric{.through = std::vector<std::vector<Node>>(t.links.size())};
  std::map<int, Node> number;
  for (std::size_t l = 0; l < through.size(); ++l) {
    if (through[l].empty() || !sides.contains(through[l][0])) continue;
    const auto [found, fresh] =
        number.emplace(through[l][0], t.ranks + static_cast<int>(fabric.switches.size()));
    if (fresh)
      fabric.switches.push_back(switch_name(limit_kind(t.limits[out[l]])) +
                                std::to_string(found->second - t.ranks));
    fabric.through[l] = {found->second};
  }
  return fabric;
}

}  // namespace

Fabric fabric_of(const Topology& t) {
  std::optional<Fabric> known = fabric_by_cables(t);
  return known ? *std::move(known) : fabric_by_ports(t);
}

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
