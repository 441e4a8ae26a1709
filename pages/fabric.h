// The switches of a flattened machine, found again: schedules name direct links between ranks, and what was a
// switch is shared limits over them.
//
// Where `flatten` made them, each limit has its cable (SharedLimit::cables), and the cables of a link lead
// from its source to its destination. Otherwise a shared limit is read as a cable. It is one if its links
// have one source (a port out), or one destination (a port in), or lead from each rank of one set to each of
// another (a trunk). Cables that follow each other on a link, fewest sources first, meet in a switch; so does
// everything that meets anywhere. A switch must switch: if a cable in and a cable out of it are not joined by
// a link (a ring whose ranks have port limits), it is not a switch, and its links stay direct.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/topology.h"

namespace chorale {

struct Fabric {
  // Their names, switch i is node ranks + i: "switch3", as 'topology show' has it, where cables are known;
  // else the first word of their limits, numbered where several have the same.
  std::vector<std::string> switches = {};
  std::vector<std::vector<Node>> through = {};  // by link: the switches on its route, from its source on
  // Chunks per round of cables that several links share, by their ends; others have that of their link.
  std::map<std::pair<Node, Node>, int> capacity = {};
};

// Requires a topology without switches (flattened).
Fabric fabric_of(const Topology&);

}  // namespace chorale
