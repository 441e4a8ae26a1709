// A limit over few sources and many destinations is near the sources: an out-port, then what goes up from a
// leaf switch, then what comes down to one, then an in-port. In that order chains of limits have no cycle,
// and links share the arcs between two limits. A link that is as wide as one of its limits needs no arc of
// its own: a switch of 64 ranks has 4,032 links, but here 128 limits and what joins them.
#include "bounds/capacity_network.h"

#include <algorithm>
#include <set>
#include <utility>

namespace chorale {
namespace {

// Sources over destinations, compared without dividing.
struct Nearness {
  long long sources = 0;
  long long destinations = 1;
  bool operator<(const Nearness& other) const {
    return sources * other.destinations < other.sources * destinations;
  }
};

Nearness nearness(const Topology& topology, const SharedLimit& limit) {
  std::set<Rank> sources, destinations;
  for (LinkId l : limit.links) {
    sources.insert(topology.links[l].src);
    destinations.insert(topology.links[l].dst);
  }
  return {.sources = static_cast<long long>(sources.size()),
          .destinations = std::max<long long>(1, static_cast<long long>(destinations.size()))};
}

}  // namespace

CapacityNetwork capacity_network(const Topology& topology) {
  const int limits = static_cast<int>(topology.limits.size());
  std::vector<Nearness> near;
  std::vector<int> order;
  for (int z = 0; z < limits; ++z) {
    near.push_back(nearness(topology, topology.limits[z]));
    order.push_back(z);
  }
  std::ranges::stable_sort(order, [&](int a, int b) { return near[a] < near[b]; });
  std::vector<std::vector<int>> over(topology.links.size());  // by link, from its source on
  for (int z : order)
    for (LinkId l : topology.limits[z].links) over[l].push_back(z);

  CapacityNetwork result{.nodes = topology.ranks + 2 * limits};
  const auto before = [&](int z) { return topology.ranks + 2 * z; };
  for (int z = 0; z < limits; ++z)
    result.arcs.push_back({.from = before(z), .to = before(z) + 1, .limit = z});
  std::set<std::pair<int, int>> joined;
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
    const Link& link = topology.links[l];
    int at = link.src;
    for (int z : over[l]) {
      if (joined.insert({at, before(z)}).second) result.arcs.push_back({.from = at, .to = before(z)});
      at = before(z) + 1;
    }
    const bool as_wide =
        std::ranges::any_of(over[l], [&](int z) { return link.bandwidth >= topology.limits[z].bandwidth; });
    if (!as_wide)
      result.arcs.push_back({.from = at, .to = link.dst, .link = l});
    else if (joined.insert({at, link.dst}).second)
      result.arcs.push_back({.from = at, .to = link.dst});
  }
  return result;
}

}  // namespace chorale
