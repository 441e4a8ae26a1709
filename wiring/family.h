// All wirings of a number of ports that are compared: the connected Cayley graphs of the groups of that order.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "ir/design.h"
#include "wiring/cayley.h"

namespace chorale {

struct WiringFamily {
  std::vector<CayleyGraph> graphs = {};   // group by group; isomorphic ones may be there
  std::vector<DesignFamily> groups = {};  // those that have graphs
  bool complete = false;                  // false: stopped before
};

// Of each group, sets of generators that are no automorphism's image of each other (of groups with thousands
// of automorphisms, some images are left). Throws InputError if that takes more than
// some seconds.
WiringFamily wirings(int ranks, int degree, const std::atomic<bool>* stop = nullptr);

// Equal for isomorphic machines of this kind (links alike, without limits), and for no others.
std::vector<Cable> canonical_links(const Topology&);

}  // namespace chorale
