// All partitions of some ranks, for what is slow and obvious.
#pragma once

#include <algorithm>
#include <vector>

namespace chorale::test {

// Calls visit(group, groups) with each: by rank the number of its group, in the order of their first ranks.
template <typename Visit>
void each_partition(int ranks, const Visit& visit) {
  std::vector<int> group(ranks, 0);
  const auto extend = [&](const auto& self, int rank, int groups) -> void {
    if (rank == ranks) return visit(group, groups);
    for (int g = 0; g <= groups; ++g) {
      group[rank] = g;
      self(self, rank + 1, std::max(groups, g + 1));
    }
  };
  extend(extend, 0, 0);
}

}  // namespace chorale::test
