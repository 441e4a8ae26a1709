// Limit after limit takes the first side that fits: a limit over one link may be either, and takes the side
// of the tails. So a limit that comes later may find a side taken that another order would have left free;
// the machine is then bounded by other means (linear programs in place of cuts), which is weaker at worst.
#include "bounds/ports.h"

#include <algorithm>

namespace chorale {

Ports ports_of(const Topology& topology) {
  Ports ports{.out = std::vector<int>(topology.links.size(), -1),
              .in = std::vector<int>(topology.links.size(), -1)};
  for (std::size_t z = 0; z < topology.limits.size(); ++z) {
    const std::vector<LinkId>& links = topology.limits[z].links;
    if (links.empty()) continue;
    const Link& first = topology.links[links.front()];
    const auto free = [&](std::vector<int>& side, auto end) {
      return std::all_of(links.begin(), links.end(),
                         [&](LinkId l) { return side[l] < 0 && end(topology.links[l]) == end(first); });
    };
    std::vector<int>* side = nullptr;
    if (free(ports.out, [](const Link& l) { return l.src; }))
      side = &ports.out;
    else if (free(ports.in, [](const Link& l) { return l.dst; }))
      side = &ports.in;
    if (side == nullptr) return {.possible = false};
    for (LinkId l : links) (*side)[l] = static_cast<int>(z);
  }
  return ports;
}

bool limits_are_ports(const Topology& topology) {
  return ports_of(topology).possible;
}

}  // namespace chorale
