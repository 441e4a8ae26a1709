// Shared limits as ports: each over links that leave one rank, or over links that enter one. Then a limit is
// the capacity of a node in a flow network.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// The limit of the links' tails and heads that each link is under, -1 if none.
struct Ports {
  bool possible = true;  // every limit is a port, and no link is under two of one side
  std::vector<int> out = {};
  std::vector<int> in = {};
};

Ports ports_of(const Topology&);
bool limits_are_ports(const Topology&);

}  // namespace chorale
