// Colours of ranks, links and limits: a stable colouring of the machine (colour_refinement.h), in which two
// ranks of a colour have equally many links of each colour. Ranks that an automorphism maps to each other
// have one colour; on regular machines so do others: a hint for a search, never a proof.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/topology.h"

namespace chorale {

struct MachineColours {
  std::vector<int> rank = {};  // colour of each, from 0
  std::vector<int> link = {};
  std::vector<int> limit = {};
  int ranks = 0;  // colours
  int links = 0;
  int limits = 0;
};

// Ranks of different `tags` have different colours.
MachineColours machine_colours(const Topology&, const std::vector<std::int64_t>& tags);

// Shared limits as ports: each over links that leave one rank, or over links that enter one. Then a limit is
// the capacity of a node in a flow network.

// The limit of the links' tails and heads that each link is under, -1 if none.
struct Ports {
  bool possible = true;  // every limit is a port, and no link is under two of one side
  std::vector<int> out = {};
  std::vector<int> in = {};
};

Ports ports_of(const Topology&);
bool limits_are_ports(const Topology&);

}  // namespace chorale
