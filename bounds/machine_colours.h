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

}  // namespace chorale
