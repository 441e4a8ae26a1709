// Every cable has two ends; ends that meet are joined in a union-find forest, and a tree of ends is a switch.
// What a machine was before is known no better: two switches without a cable of their own between them become
// one.
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

struct PossibleCable {
  bool is_one = false;
  std::vector<Rank> from = {}, to = {};  // sorted
};

std::vector<Rank> sorted_set(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// A port has one rank on one side; a trunk leads from all of one set to all of another, disjoint one. A limit
// over a single pair of ranks is the rate of a link and no cable.
PossibleCable cable_of(const Topology& t, const SharedLimit& limit) {
  PossibleCable cable;
  std::set<std::pair<Rank, Rank>> pairs;
  for (LinkId l : limit.links) {
    cable.from.push_back(t.links[l].src);
    cable.to.push_back(t.links[l].dst);
    pairs.insert({t.links[l].src, t.links[l].dst});
  }
  cable.from = sorted_set(std::move(cable.from));
  cable.to = sorted_set(std::move(cable.to));
  std::vector<Rank> both;
  std::set_intersection(cable.from.begin(), cable.from.end(), cable.to.begin(), cable.to.end(),
                        std::back_inserter(both));
  const bool port = cable.from.size() == 1 || cable.to.size() == 1;
  const bool trunk = both.empty() && pairs.size() == cable.from.size() * cable.to.size();
  cable.is_one = pairs.size() > 1 && (port || trunk);
  return cable;
}

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

// Every rank on the one side reaches everything on the other, but itself. A trunk back into a trunk is not
// required: routes go up and then down.
bool switches(const Topology& t, const Sides& s) {
  if (s.in.size() < 2 || s.out.size() < 2) return false;
  for (int in : s.in)
    for (int out : s.out)
      if (in != out && (in < t.ranks || out < t.ranks) && !s.joined.contains({in, out})) return false;
  return s.in.size() + s.out.size() > 4 || s.in != s.out;  // two ranks need no switch
}

void drop(std::vector<std::vector<int>>& through, const std::set<int>& which) {
  for (std::vector<int>& way : through) std::erase_if(way, [&](int s) { return which.contains(s); });
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

// "switch" four times: switch0 to switch3.
void number_equal_names(std::vector<std::string>& names) {
  std::map<std::string, int> times, next;
  for (const std::string& name : names) ++times[name];
  for (std::string& name : names)
    if (times[name] > 1) name += std::to_string(next[name]++);
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
  Fabric fabric{.through = through};
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

}  // namespace

Fabric fabric_of(const Topology& t) {
  if (std::optional<Fabric> known = fabric_by_cables(t)) return *std::move(known);
  std::vector<PossibleCable> cables;
  for (const SharedLimit& limit : t.limits) cables.push_back(cable_of(t, limit));
  std::vector<std::vector<int>> on_link(t.links.size());
  for (std::size_t i = 0; i < cables.size(); ++i)
    if (cables[i].is_one)
      for (LinkId l : t.limits[i].links) on_link[l].push_back(static_cast<int>(i));

  // Along a route the sources behind a cable become more and the destinations ahead become fewer: port out,
  // trunks, port in. The difference orders the cables of a link.
  const auto spread = [&](int cable) {
    return static_cast<int>(cables[cable].from.size()) - static_cast<int>(cables[cable].to.size());
  };
  // The ends of a cable: its tail at its sources, its head at its destinations.
  const auto head = [](int cable) { return 2 * cable + 1; };
  const auto tail = [](int cable) { return 2 * cable; };
  DisjointSets ends(2 * static_cast<int>(cables.size()));
  for (std::vector<int>& way : on_link) {
    std::stable_sort(way.begin(), way.end(), [&](int a, int b) { return spread(a) < spread(b); });
    for (std::size_t i = 1; i < way.size(); ++i) ends.join(head(way[i - 1]), tail(way[i]));
  }

  std::vector<std::vector<int>> through(t.links.size());
  for (std::size_t l = 0; l < on_link.size(); ++l) {
    std::vector<int>& way = through[l];
    for (std::size_t i = 0; i < on_link[l].size(); ++i) {
      const int cable = on_link[l][i];
      // A side with a single rank is that rank, not a switch.
      if (cables[cable].from.size() > 1) way.push_back(ends.find(tail(cable)));
      if (cables[cable].to.size() > 1) way.push_back(ends.find(head(cable)));
    }
    way.erase(std::unique(way.begin(), way.end()), way.end());
  }

  // Before the test: twins are tested as the one switch that they are.
  join_twins(one_way_twins(t, through), through);
  for (bool again = true; again;) {  // a switch less leaves others with other sides
    std::set<int> none;
    for (const auto& [s, sides] : sides_of(t, through))
      if (!switches(t, sides)) none.insert(s);
    again = !none.empty();
    drop(through, none);
  }

  Fabric fabric{.through = std::vector<std::vector<Node>>(t.links.size())};
  std::map<int, Node> number;
  for (std::size_t l = 0; l < through.size(); ++l)
    for (int s : through[l]) {
      if (!number.contains(s)) {
        number[s] = t.ranks + static_cast<int>(fabric.switches.size());
        std::string name;
        for (int cable : on_link[l])
          if (ends.find(head(cable)) == s || ends.find(tail(cable)) == s) name = limit_kind(t.limits[cable]);
        fabric.switches.push_back(switch_name(name));
      }
      fabric.through[l].push_back(number[s]);
    }
  number_equal_names(fabric.switches);
  return fabric;
}

}  // namespace chorale
