// The switches of a flattened machine, found again: schedules name direct links between ranks, and what was a
// switch is shared limits over them.
//
// Where `flatten` made them, each limit has its cable (SharedLimit::cables), and the cables of a link lead
// from its source to its destination. Otherwise limits over the links out of a rank, or into it, are read as
// its ports, and ports that have links in common meet in a switch: what lies between switches is not known.
// Links that are over nothing stay direct, as those of a ring whose ranks have ports do.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/topology.h"

namespace chorale {

struct Fabric {
  // Their names, switch i is node ranks + i: "switch3", as 'topology show' has it, where cables are known;
  // else "NVSwitch0" by the first word of their limits.
  std::vector<std::string> switches = {};
  bool by_cables = false;                       // else there may be more
  std::vector<std::vector<Node>> through = {};  // by link: the switches on its route, from its source on
  // Chunks per round of cables that several links share, by their ends; others have that of their link.
  std::map<std::pair<Node, Node>, int> capacity = {};
};

// Requires a topology without switches (flattened).
Fabric fabric_of(const Topology&);

}  // namespace chorale
