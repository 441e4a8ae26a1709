// The links up of the switches above a job's hosts.
#pragma once

#include <string>
#include <vector>

#include "ir/node_order.h"

namespace chorale {

struct Uplink {  // of a switch that has some of the job's hosts below it, and not all
  std::string name = {};
  double gbs = 0;  // in each direction
  int hosts = 0;   // of the job, below it
  int above = -1;  // the next one further up
  bool operator==(const Uplink&) const = default;
};

struct NodeTree {
  std::vector<Uplink> uplinks = {};  // those above come after those below
  struct Leaf {                      // hosts that are alike: they hang on one switch
    std::vector<int> hosts = {};     // of Allocation::hosts
    int uplink = -1;                 // -1: all of the job's hosts hang on one switch
  };
  std::vector<Leaf> leaves = {};
  double node_gbs = 0;

  std::vector<std::vector<int>> below_uplinks()
      const;  // by uplink: those right below it; the last: the root's
  std::vector<std::vector<int>> above_leaves() const;  // by leaf: its uplinks, from the nearest on
};

// Switches with the same hosts below them are one, as fast as the slowest.
NodeTree node_tree(const Allocation&, const NetworkRates&);

}  // namespace chorale
