#include "dispatch/layout.h"

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
