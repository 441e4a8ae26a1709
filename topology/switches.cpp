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
// In networks of many switches paths may wander: up and down again and up once more. There are exponentially
// many of these, and no network routes so; if all paths are too many, some of those with the fewest hops are
// taken.
#include "topology/switches.h"

#include <algorithm>
#include <map>

#include "ir/error.h"

namespace chorale {
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
  // Proofs are then about the wires below, where partitions count every send.
  if (taken.choice != RouteChoice::All && abilities_of(topology).any())
    throw InputError("topology " + topology.name,
                     "has switches that multicast or reduce, and too many routes through them to determine "
                     "what counts once",
                     "leave these abilities out, or describe switches that act as one by one switch");
  return flat_over(topology, taken);
}

// Routes become links, and each wire lists the links over it; wires with several become limits; and limits of
// the topology are rewritten from wires to the links over them.
Topology flat_over(const Topology& topology, const ChosenRoutes& taken) {
  Topology flat{.name = topology.name, .ranks = topology.ranks};
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
