// By cables, or else by ports.
#include "pages/fabric.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ir/disjoint_sets.h"

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
      const std::string kind = node_kind(t, n);
      if (fresh)
        fabric.switches.push_back(kind + (kind.find(' ') == kind.npos ? "" : " ") +
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

}  // namespace chorale
