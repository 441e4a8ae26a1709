// Of n ranks of a node with k NICs, rank i has NIC i * k / n: consecutive ranks share one, as evenly as it
// goes. NICs are numbered through over all nodes. A node with fewer ranks than NICs uses one NIC per rank.
#include "runtime/alltoallv/layout.h"

#include <algorithm>

namespace chorale {

NodeLayout::NodeLayout(const TwoTiers& tiers) : node(tiers.node), nic(tiers.node.size()) {
  for (Rank n = 0; n < ranks(); ++n) {
    if (node[n] >= nodes()) members.resize(node[n] + 1);
    members[node[n]].push_back(n);
  }
  nics_of.resize(members.size());
  for (int a = 0; a < nodes(); ++a) {
    const int size = static_cast<int>(members[a].size());
    const int used = tiers.rates.nics > 0 ? std::min(tiers.rates.nics, size) : size;
    for (int i = 0; i < size; ++i)
      nic[members[a][i]] = nics + static_cast<int>(std::int64_t{i} * used / size);
    for (int i = 0; i < std::min(used, size); ++i) nics_of[a].push_back(nics++);
  }
}

}  // namespace chorale
