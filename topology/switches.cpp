// Depth first from every rank through switches only, and what the routes share is a limit. One link for each pair, as wide
// as a maximum flow between the two, would be fewer, but would not know which of them share a wire.
//
// Invariant: a set of sends over routes is within the flat machine's bandwidths if and only if the wires
// under them are within theirs. A route is a link as wide as its narrowest wire, so a wire with one route
// needs no limit; one with several has one over all of them.
//
// In networks of many switches ways may wander: up and down again and up once more. There are exponentially many of these,
// and no network routes so; where all are too many, those with the fewest hops are taken.
#include "topology/switches.h"

#include <algorithm>
#include <queue>

#include "ir/error.h"

namespace chorale {
namespace {

constexpr std::size_t kMostRoutes = 100'000;
constexpr std::size_t kMostHops = 20'000'000;  // of all ways tried: less than a second, and 80 MB of routes

class Routes {
 public:
  Routes(const Topology& topology, bool shortest)
      : topology_(topology), shortest_(shortest), out_(topology.ranks + topology.switches) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      out_[topology.links[l].src].push_back(l);
    for (Rank n = 0; n < topology.ranks && why_too_many_.empty(); ++n) {
      if (shortest_) measure(n);
      extend(n, n);
    }
  }
  const std::vector<std::vector<LinkId>>& all() const { return routes_; }
  const std::string& why_too_many() const { return why_too_many_; }  // empty: these are all
  bool only_shortest() const { return shortest_; }

 private:
  // Hops from a rank through switches.
  void measure(Rank start) {
    distance_.assign(out_.size(), -1);
    distance_[start] = 0;
    std::queue<Node> queue({start});
    while (!queue.empty()) {
      const Node at = queue.front();
      queue.pop();
      if (at < topology_.ranks && at != start) continue;
      for (LinkId l : out_[at])
        if (Node next = topology_.links[l].dst; distance_[next] < 0) {
          distance_[next] = distance_[at] + 1;
          queue.push(next);
        }
    }
  }

  // Ways end at the first rank: what a rank passes on is a step of its own. A node is not entered twice, so
  // there are finitely many ways, but they may be exponentially many.
  void extend(Rank start, Node at) {
    for (LinkId l : out_[at]) {
      if (!why_too_many_.empty()) return;
      const Node next = topology_.links[l].dst;
      // A way is a few hops, so it is looked through and not marked.
      const bool visited = next == start || std::any_of(way_.begin(), way_.end(), [&](LinkId used) {
                             return topology_.links[used].dst == next;
                           });
      if (visited || (shortest_ && distance_[next] != static_cast<int>(way_.size()) + 1)) continue;
      hops_ += 1 + way_.size();
      if (hops_ > kMostHops) why_too_many_ = "over 20000000 hops to look at";
      way_.push_back(l);
      if (next < topology_.ranks) {
        routes_.push_back(way_);
        if (routes_.size() > kMostRoutes) why_too_many_ = "over 100000 routes";
      } else {
        extend(start, next);
      }
      way_.pop_back();
    }
  }

  const Topology& topology_;
  const bool shortest_;
  std::vector<int> distance_ = {};        // by node, from the rank whose ways are looked for
  std::size_t hops_ = 0;                  // of all ways looked at, each from its beginning
  std::vector<std::vector<LinkId>> out_;  // by node
  std::vector<LinkId> way_ = {};          // from `start` on; through switches only
  std::vector<std::vector<LinkId>> routes_ = {};
  std::string why_too_many_ = {};
};

// All, or the shortest where these are too many.
Routes routes_of(const Topology& topology) {
  Routes all(topology, false);
  return all.why_too_many().empty() ? all : Routes(topology, true);
}

}  // namespace

Ways ways_of(const Topology& topology) {
  if (topology.switches == 0 || Routes(topology, false).why_too_many().empty()) return Ways::All;
  return Routes(topology, true).why_too_many().empty() ? Ways::Shortest : Ways::TooMany;
}

Topology flatten(const Topology& topology) {
  if (topology.switches == 0) return topology;
  const Routes routes = routes_of(topology);
  if (!routes.why_too_many().empty())
    throw InputError("topology " + topology.name, "has " + routes.why_too_many() + " through its switches",
                     "describe switches that act as one by one switch");
  // Whatever is proven of this machine is proven for these ways alone, and says so by its name.
  Topology flat{.name = topology.name + (routes.only_shortest() ? " by its shortest ways" : ""),
                .ranks = topology.ranks};
  std::vector<std::vector<LinkId>> users(topology.links.size());  // routes over each physical link
  for (const std::vector<LinkId>& route : routes.all()) {
    Link link = topology.links[route.front()];
    link.alpha_us = 0;
    link.dst = topology.links[route.back()].dst;
    for (LinkId l : route) {
      link.bandwidth = std::min(link.bandwidth, topology.links[l].bandwidth);
      link.alpha_us += topology.links[l].alpha_us;
      link.beta_us_per_byte = std::max(link.beta_us_per_byte, topology.links[l].beta_us_per_byte);
      users[l].push_back(static_cast<LinkId>(flat.links.size()));
    }
    flat.links.push_back(link);
  }
  for (std::size_t l = 0; l < users.size(); ++l)
    if (users[l].size() > 1)
      flat.limits.push_back({.name = "link " + std::to_string(topology.links[l].src) + " -> " +
                                     std::to_string(topology.links[l].dst),
                             .links = users[l],
                             .bandwidth = topology.links[l].bandwidth});
  for (const SharedLimit& limit : topology.limits) {
    SharedLimit carried{.name = limit.name, .bandwidth = limit.bandwidth};
    for (LinkId l : limit.links) carried.links.insert(carried.links.end(), users[l].begin(), users[l].end());
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
