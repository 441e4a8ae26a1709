#include "topology/hardware/deliveries.h"

#include <algorithm>
#include <set>

#include "ir/switch_gain.h"

namespace chorale {

double deliveries(const Topology& topology, Node at) {
  long long in = 0, out = 0;
  std::set<Node> ports;
  for (const Link& link : topology.links) {
    if (link.dst == at) in += link.bandwidth;
    if (link.src != at) continue;
    out += link.bandwidth;
    ports.insert(link.dst);
  }
  return gain_of_ports(topology.switch_gain, static_cast<int>(ports.size())) *
         static_cast<double>(std::min(in, out));
}

}  // namespace chorale
