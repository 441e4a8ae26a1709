// Where ranks and NICs of nodes are.
#pragma once

#include <vector>

#include "ir/alltoallv.h"

namespace chorale {

struct NodeLayout {
  explicit NodeLayout(const TwoTiers&);

  int ranks() const { return static_cast<int>(nic.size()); }
  int nodes() const { return static_cast<int>(members.size()); }

  std::vector<std::vector<Rank>> members = {};  // by node, in order
  std::vector<std::vector<int>> nics_of = {};   // by node: its NICs that ranks use
  std::vector<int> node = {};                   // by rank
  std::vector<int> nic = {};                    // by rank: a number among those of all nodes
  int nics = 0;
};

}  // namespace chorale
