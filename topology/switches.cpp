// Depth first from every rank through switches only, and what the routes share is a limit. One link for each
// pair, as wide as a maximum flow between the two, would be fewer, but would not know which of them share a
// wire.
//
// Invariant: a set of sends over routes is within the flat machine's bandwidths if and only if the wires
// under them are within theirs. A route is a link as wide as its narrowest wire, so a wire with one route
// needs no limit; one with several has one over all of them.
//
// The switches at a wire's ends determine which values it counts once. Copies are made where it enters, so it
// multicasts if that switch does; sums are made where it leaves. docs/topologies.md proves that a network can
// carry loads counted so. If some switches can do one and others the other, the proof needs values that have
// not been added up yet, so wires between switches then count every send.
//
// What a switch can copy and add is more than what its cables carry, but not without end:
// Topology::switch_gain. A limit over all routes through it counts each copy and each added value
// (deliveries()). Plain sends never meet it, since it is never less than what the cables carry.
//
// In networks of many switches paths may wander: up and down again and up once more. There are exponentially
// many of these, and no network routes so; if all paths are too many, some of those with the fewest hops are
// taken.
#include "topology/switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "graph/paths.h"
#include "ir/error.h"
#include "ir/links_alone.h"
#include "ir/switch_gain.h"
#include "topology/hardware/deliveries.h"
#include "topology/rates.h"

namespace chorale {

// A rank's place is read off the switches: ranks that are few hops apart are below one switch, those of one
// tier more below one pod, and so on; its digits are its number below its switch, its switch's number in the
// pod, the pod's number. (As the addresses of Al-Fares et al. 2008, but for any graph: tiers are the
// distances between ranks that there are.)
//
// Alternatives that lost: the least loaded path each time, which is balanced on any fabric but is not
// invariant under any automorphism, and without a group of symmetries constructions end at a few hundred
// ranks. Hashes are neither balanced nor symmetric.

namespace {

constexpr std::size_t kMostShortest = 10'000, kMostWays = 150'000;
constexpr int kMostTiers = 8;

// Paths lead through switches alone: a rank forwards nothing here, since a schedule that forwards says so
// itself.
class Fabric {
 public:
  explicit Fabric(const Topology& topology)
      : topology_(topology), out_(topology.ranks + topology.switches), in_(out_.size()) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      out_[topology.links[l].src].push_back(l);
      in_[topology.links[l].dst].push_back(l);
    }
    for (Rank n = 0; n < topology.ranks; ++n) hops_to_.push_back(hops_to(n));
    find_places();
  }

  // None where they are more.
  std::optional<std::vector<std::vector<LinkId>>> routes(RouteChoice choice, std::size_t most) const {
    std::vector<std::vector<LinkId>> chosen;
    for (Rank s = 0; s < topology_.ranks; ++s)
      for (Rank t = 0; t < topology_.ranks; ++t) {
        if (s == t || hops_to_[t][s] < 0 || !takes(choice, s, t)) continue;
        if (choice == RouteChoice::Shortest) {
          std::vector<LinkId> way;
          extend(s, t, way, chosen, most);
        } else {
          chosen.push_back(one_way(s, t));
        }
        if (chosen.size() > most) return std::nullopt;
      }
    return chosen;
  }

  // Does everything still get to where it could?
  bool reach_all(const std::vector<std::vector<LinkId>>& routes) const {
    std::vector<std::vector<Node>> now(out_.size()), before(out_.size());
    for (const std::vector<LinkId>& way : routes)
      now[topology_.links[way.front()].src].push_back(topology_.links[way.back()].dst);
    for (const Link& link : topology_.links) before[link.src].push_back(link.dst);
    for (Rank n = 0; n < topology_.ranks; ++n)
      if (ranks_reached(now, n) != ranks_reached(before, n)) return false;
    return true;
  }

 private:
  // By node, through switches alone; -1 if there is no path.
  // From the destination, against the links; other ranks are reached and not passed.
  std::vector<int> hops_to(Rank t) const {
    return fewest_hops(static_cast<int>(out_.size()), std::vector{t}, [&](Node n, const auto& reach) {
      if (n >= topology_.ranks || n == t)
        for (const LinkId l : in_[n]) reach(topology_.links[l].src);
    });
  }

  std::ptrdiff_t ranks_reached(const std::vector<std::vector<Node>>& next, Rank from) const {
    const auto to_next = [&](Node n, const auto& reach) { std::ranges::for_each(next[n], reach); };
    const std::vector<int> hops = fewest_hops(static_cast<int>(next.size()), std::vector{from}, to_next);
    return topology_.ranks - std::count(hops.begin(), hops.begin() + topology_.ranks, -1);
  }

  // Groups of groups: of ranks at most a number of hops apart, for each distance that occurs. Where hops join
  // ranks that have no such path between them, as switches of nodes and of rails do, the widest links of that
  // distance join first.
  void find_places() {
    std::set<int> distances;
    for (Rank t = 0; t < topology_.ranks; ++t)
      for (Rank s = 0; s < topology_.ranks; ++s)
        if (hops_to_[t][s] > 0) distances.insert(hops_to_[t][s]);
    std::vector<int> group(topology_.ranks);  // named by its first rank
    std::iota(group.begin(), group.end(), 0);
    const auto take = [&](std::vector<int> wider) {
      add_tier(group, wider);
      group = std::move(wider);
    };
    for (const int most : distances) {
      const auto is_near = [&](Rank s, Rank t) { return hops_to_[t][s] >= 0 && hops_to_[t][s] <= most; };
      std::vector<int> wider = joined(group, is_near);
      if (!all_near(wider, is_near)) {
        std::set<int, std::greater<>> widths;
        for (Rank t = 0; t < topology_.ranks; ++t)
          for (Rank s = 0; s < topology_.ranks; ++s)
            if (group[s] != group[t] && is_near(s, t)) widths.insert(width(s, t));
        if (!widths.empty()) widths.erase(std::prev(widths.end()));  // joins as all do
        for (const int least : widths)
          if (std::ssize(places_) < kMostTiers)
            take(joined(group, [&](Rank s, Rank t) { return is_near(s, t) && width(s, t) >= least; }));
      }
      if (std::ssize(places_) < kMostTiers) take(std::move(wider));
      if (std::ssize(places_) == kMostTiers) break;
    }
  }

  // Ranks that are near, and groups of them, are merged until nothing changes.
  std::vector<int> joined(std::vector<int> group, const auto& is_near) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (Rank t = 0; t < topology_.ranks; ++t)
        for (Rank s = 0; s < topology_.ranks; ++s) {
          if (group[s] == group[t] || !is_near(s, t)) continue;
          group[s] = group[t] = std::min(group[s], group[t]);
          changed = true;
        }
    }
    return group;
  }

  bool all_near(const std::vector<int>& group, const auto& is_near) const {
    for (Rank t = 0; t < topology_.ranks; ++t)
      for (Rank s = 0; s < topology_.ranks; ++s)
        if (s != t && group[s] == group[t] && !is_near(s, t)) return false;
    return true;
  }

  // The widest link on which a shortest path begins.
  int width(Rank s, Rank t) const {
    int widest = 0;
    for (const LinkId l : out_[s])
      if (leads_on(s, l, t)) widest = std::max(widest, topology_.links[l].bandwidth);
    return widest;
  }

  // The number of a rank's group within the wider one, and how many are there.
  void add_tier(const std::vector<int>& group, const std::vector<int>& wider) {
    std::map<int, std::set<int>> within;
    for (Rank n = 0; n < topology_.ranks; ++n) within[wider[n]].insert(group[n]);
    std::vector<int> place, size;
    for (Rank n = 0; n < topology_.ranks; ++n) {
      const std::set<int>& groups = within[wider[n]];
      place.push_back(static_cast<int>(std::distance(groups.begin(), groups.find(group[n]))));
      size.push_back(static_cast<int>(groups.size()));
    }
    places_.push_back(std::move(place));
    sizes_.push_back(std::move(size));
  }

  int apart(std::size_t tier, Rank s, Rank t) const {
    const int size = sizes_[tier][s];
    return ((places_[tier][t] - places_[tier][s]) % size + size) % size;
  }

  // Fewer pairs with each choice: to all ranks; to all of the own unit and to one counterpart in each
  // other; to those that differ in one digit; to those of these whose digit is a power of two further on,
  // as recursive doubling needs.
  bool takes(RouteChoice choice, Rank s, Rank t) const {
    if (choice == RouteChoice::Shortest || choice == RouteChoice::OneEach) return true;
    int differ = 0, by = 0, above = 0;
    for (std::size_t tier = 0; tier < places_.size(); ++tier)
      if (places_[tier][s] != places_[tier][t]) {
        ++differ;
        by = apart(tier, s, t);
        if (tier > 0) ++above;
      }
    if (choice == RouteChoice::OneHop) {
      // In a group of fewer ranks, one stands for several.
      const int fewer = std::min(sizes_[0][s], sizes_[0][t]);
      return above == 0 || places_[0][s] % fewer == places_[0][t] % fewer;
    }
    return differ == 1 && (choice == RouteChoice::OneDigit || (by & (by - 1)) == 0);
  }

  // Of k equal links that lead on the one of number (sum of the digits' distances) mod k, at the n-th choice
  // of the tiers from n on. What one rank sends to others is thus spread over the links, and the choice
  // depends on distances only, so a shift of all places maps paths to paths. Wider links take as many
  // residues as they are wide.
  std::vector<LinkId> one_way(Rank s, Rank t) const {
    std::vector<LinkId> way;
    std::size_t tier = 0;
    for (Node at = s; at != t; at = topology_.links[way.back()].dst) {
      std::vector<LinkId> on;
      long long wide = 0, key = 0;
      for (LinkId l : out_[at])
        if (leads_on(at, l, t)) {
          on.push_back(l);
          wide += topology_.links[l].bandwidth;
        }
      if (on.size() > 1) {
        for (std::size_t i = std::min(tier, places_.size() - 1); i < places_.size(); ++i)
          key += apart(i, s, t);
        ++tier;
      }
      // Links of equal width are taken round-robin.
      const bool even = wide == static_cast<long long>(on.size()) * topology_.links[on.front()].bandwidth;
      key %= even ? static_cast<long long>(on.size()) : wide;
      std::size_t taken = 0;
      if (even)
        taken = static_cast<std::size_t>(key);
      else
        for (; key >= topology_.links[on[taken]].bandwidth; ++taken)
          key -= topology_.links[on[taken]].bandwidth;
      way.push_back(on[taken]);
    }
    return way;
  }

  // Along shortest paths only: one hop nearer to the destination.
  bool leads_on(Node at, LinkId l, Rank t) const {
    const Node next = topology_.links[l].dst;
    return (next >= topology_.ranks || next == t) && hops_to_[t][next] == hops_to_[t][at] - 1;
  }

  // All shortest paths, depth first; the caller gives up where they are more than `most`.
  void extend(Node at, Rank t, std::vector<LinkId>& way, std::vector<std::vector<LinkId>>& chosen,
              std::size_t most) const {
    for (LinkId l : out_[at]) {
      if (!leads_on(at, l, t) || chosen.size() > most) continue;
      way.push_back(l);
      if (topology_.links[l].dst == t)
        chosen.push_back(way);
      else
        extend(topology_.links[l].dst, t, way, chosen, most);
      way.pop_back();
    }
  }

  const Topology& topology_;
  std::vector<std::vector<LinkId>> out_, in_;          // by node
  std::vector<std::vector<int>> hops_to_ = {};         // by rank, then node
  std::vector<std::vector<int>> places_, sizes_ = {};  // by tier, then rank
};

}  // namespace

ChosenRoutes chosen_routes(const Topology& topology, RouteChoice first) {
  const Fabric fabric(topology);
  for (const RouteChoice choice : {RouteChoice::Shortest, RouteChoice::OneEach, RouteChoice::OneHop,
                                   RouteChoice::OneDigit, RouteChoice::PowersOfTwo}) {
    if (choice < first) continue;
    std::optional<std::vector<std::vector<LinkId>>> routes =
        fabric.routes(choice, choice == RouteChoice::Shortest ? kMostShortest : kMostWays);
    const bool all_pairs = choice == RouteChoice::Shortest || choice == RouteChoice::OneEach;
    if (routes && (all_pairs || fabric.reach_all(*routes)))
      return {.choice = choice, .routes = std::move(*routes)};
  }
  return {};
}

namespace {

constexpr std::size_t kMostRoutes = 100'000;
constexpr std::size_t kMostHops = 20'000'000;  // of all paths tried: less than a second, and 80 MB of routes
constexpr double kMostAlpha = 1e9;             // us: more is refused where the machine is read again

class Routes {
 public:
  explicit Routes(const Topology& topology) : topology_(topology), out_(topology.ranks + topology.switches) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      out_[topology.links[l].src].push_back(l);
    for (Rank n = 0; n < topology.ranks && !too_many_; ++n) extend(n, n);
  }
  const std::vector<std::vector<LinkId>>& all() const { return routes_; }
  bool too_many() const { return too_many_; }

 private:
  // Paths end at the first rank: what a rank passes on is a step of its own. A node is not entered twice, so
  // there are finitely many paths, but they may be exponentially many.
  void extend(Rank start, Node at) {
    for (LinkId l : out_[at]) {
      if (too_many_) return;
      const Node next = topology_.links[l].dst;
      // A path has a few hops, so it is searched instead of marking nodes.
      const bool visited = next == start || std::any_of(way_.begin(), way_.end(), [&](LinkId used) {
                             return topology_.links[used].dst == next;
                           });
      if (visited) continue;
      hops_ += 1 + way_.size();
      if (hops_ > kMostHops) too_many_ = true;
      way_.push_back(l);
      if (next < topology_.ranks) {
        routes_.push_back(way_);
        if (routes_.size() > kMostRoutes) too_many_ = true;
      } else {
        extend(start, next);
      }
      way_.pop_back();
    }
  }

  const Topology& topology_;
  std::size_t hops_ = 0;                  // of all paths examined, each from its beginning
  std::vector<std::vector<LinkId>> out_;  // by node
  std::vector<LinkId> way_ = {};          // from `start` on; through switches only
  std::vector<std::vector<LinkId>> routes_ = {};
  bool too_many_ = false;
};

// Whether a wire counts equal values once. `trunks_`: wires between switches do, unless both abilities occur
// and switches differ in them.
class WireAbilities {
 public:
  explicit WireAbilities(const Topology& topology) : topology_(topology) {
    const Abilities all = abilities_of(topology);
    const bool alike =
        std::ranges::all_of(topology.abilities, [&](const Abilities& each) { return each == all; });
    trunks_ = alike || !(all.multicast && all.reduce);
  }

  Abilities of(LinkId l) const {
    const Link& link = topology_.links[l];
    if (topology_.abilities.empty() || (!trunks_ && !is_rank(link.src) && !is_rank(link.dst))) return {};
    return {.multicast = !is_rank(link.dst) && topology_.abilities[link.dst - topology_.ranks].multicast,
            .reduce = !is_rank(link.src) && topology_.abilities[link.src - topology_.ranks].reduce};
  }

  // Of a limit over several wires: the abilities that all of them have, unless a rank has paths over two of
  // them; then a chunk that counts once would be carried twice.
  Abilities of(const SharedLimit& limit, const std::vector<std::vector<LinkId>>& users,
               const Topology& flat) const {
    Abilities result{.multicast = true, .reduce = true};
    std::map<Rank, LinkId> from, to;
    for (LinkId l : limit.links) {
      result.multicast = result.multicast && of(l).multicast;
      result.reduce = result.reduce && of(l).reduce;
      for (LinkId route : users[l]) {
        if (from.try_emplace(flat.links[route].src, l).first->second != l) result.multicast = false;
        if (to.try_emplace(flat.links[route].dst, l).first->second != l) result.reduce = false;
      }
    }
    return result;
  }

 private:
  bool is_rank(Node n) const { return n < topology_.ranks; }

  const Topology& topology_;
  bool trunks_ = true;  // wires between switches, too
};

// Does a wire into a switch bound all routes over this one, which leaves that switch, as tightly? Then no
// limit is needed.
// A tree's wires up imply its wires further up where those are as wide; leaving such limits out makes
// formulas smaller and changes nothing.
bool implied(const Topology& topology, const std::vector<std::vector<LinkId>>& users, LinkId l) {
  const Link& link = topology.links[l];
  if (abilities_of(topology).any() || link.src < topology.ranks || link.dst < topology.ranks) return false;
  for (LinkId before = 0; before < static_cast<LinkId>(topology.links.size()); ++before)
    if (topology.links[before].dst == link.src && topology.links[before].bandwidth <= link.bandwidth &&
        users[before].size() > users[l].size() && std::ranges::includes(users[before], users[l]))
      return true;
  return false;
}

}  // namespace

ChosenRoutes routes_of(const Topology& topology) {
  const Routes all(topology);
  return all.too_many() ? chosen_routes(topology)
                        : ChosenRoutes{.choice = RouteChoice::All, .routes = all.all()};
}

Topology flatten(const Topology& topology) {
  if (topology.switches == 0) return topology;
  const ChosenRoutes taken = routes_of(topology);
  if (taken.choice == RouteChoice::None)
    throw InputError("topology " + topology.name, "has too many routes through its switches",
                     "describe switches that act as one by one switch");
  // Proofs are then about the wires below, where partitions count every send. Abilities that facts of
  // hardware give are then left unused, which the machine's name says; those that were asked for are refused.
  if (taken.choice != RouteChoice::All && topology.switch_gain > 0)
    return flat_over(by_links_alone(topology), taken);
  if (taken.choice != RouteChoice::All && abilities_of(topology).any())
    throw InputError("topology " + topology.name,
                     "has switches that multicast or reduce, and too many routes through them to determine "
                     "what counts once",
                     "leave these abilities out, or describe switches that act as one by one switch");
  return flat_over(topology, taken);
}

Machine machine_of(const Topology& described) {
  return {described, flatten(with_rates_as_bandwidths(described))};
}

// Routes become links, and each wire lists the links over it; wires with several become limits; and limits of
// the topology are rewritten from wires to the links over them.
Topology flat_over(const Topology& topology, const ChosenRoutes& taken) {
  Topology flat{
      .name = topology.name, .ranks = topology.ranks, .call_us = topology.call_us, .labels = topology.labels};
  if (taken.choice != RouteChoice::All)
    flat.underlay = {.switches = topology.switches,
                     .links = topology.links,
                     .limits = topology.limits,
                     .routes = taken.routes};
  std::vector<std::vector<LinkId>> users(topology.links.size());  // routes over each physical link
  for (const std::vector<LinkId>& route : taken.routes) {
    Link link = topology.links[route.front()];
    link.alpha_us = 0;
    link.dst = topology.links[route.back()].dst;
    for (LinkId l : route) {
      link.bandwidth = std::min(link.bandwidth, topology.links[l].bandwidth);
      link.alpha_us += topology.links[l].alpha_us;
      link.beta_us_per_byte = std::max(link.beta_us_per_byte, topology.links[l].beta_us_per_byte);
      users[l].push_back(static_cast<LinkId>(flat.links.size()));
    }
    if (link.alpha_us > kMostAlpha)
      throw InputError("topology " + topology.name, "has a route through its switches of over 1e9 us",
                       "give the links of switches a smaller alpha_us");
    flat.links.push_back(link);
  }
  const WireAbilities able(topology);
  for (std::size_t l = 0; l < users.size(); ++l)
    if (users[l].size() > 1 &&
        !(taken.choice == RouteChoice::All && implied(topology, users, static_cast<LinkId>(l))))
      flat.limits.push_back({.name = "link " + std::to_string(topology.links[l].src) + " -> " +
                                     std::to_string(topology.links[l].dst),
                             .links = users[l],
                             .bandwidth = topology.links[l].bandwidth,
                             .abilities = able.of(static_cast<LinkId>(l)),
                             .cables = {{topology.links[l].src, topology.links[l].dst}}});
  for (std::size_t i = 0; i < topology.abilities.size() && topology.switch_gain > 0; ++i) {
    if (!topology.abilities[i].any()) continue;
    const Node at = topology.ranks + static_cast<Node>(i);
    std::set<LinkId> through;
    for (LinkId l = 0; l < std::ssize(topology.links); ++l)
      if (topology.links[l].dst == at) through.insert(users[l].begin(), users[l].end());
    if (through.size() > 1)
      flat.limits.push_back({.name = fmt::format("{} in-network {}", node_kind(topology, at), i),
                             .links = {through.begin(), through.end()},
                             .bandwidth = whole_deliveries(deliveries(topology, at))});
  }
  for (const SharedLimit& limit : topology.limits) {
    SharedLimit carried{
        .name = limit.name, .bandwidth = limit.bandwidth, .abilities = able.of(limit, users, flat)};
    for (LinkId l : limit.links) {
      carried.links.insert(carried.links.end(), users[l].begin(), users[l].end());
      carried.cables.push_back({topology.links[l].src, topology.links[l].dst});
    }
    std::sort(carried.links.begin(), carried.links.end());
    if (std::adjacent_find(carried.links.begin(), carried.links.end()) != carried.links.end())
      throw InputError("topology " + topology.name + ", limit '" + limit.name + "'",
                       "holds two links of one route through the switches, which would count once",
                       "limit the links into a switch and those out of it apart");
    if (!carried.links.empty()) flat.limits.push_back(std::move(carried));
  }
  return flat;
}

}  // namespace chorale
