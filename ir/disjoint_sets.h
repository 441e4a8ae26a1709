// Union-find with path halving: which of the numbers 0 .. size - 1 are joined, directly or through others. A
// set is named by its smallest member, so that names do not depend on the order of the joins.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace chorale {

class DisjointSets {
 public:
  explicit DisjointSets(int size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }

  void join(int x, int y) {
    x = find(x);
    y = find(y);
    parent_[std::max(x, y)] = std::min(x, y);
  }

  // Returns the smallest member of the set that x is in.
  int find(int x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }

  // find() of each number.
  std::vector<int> representatives() {
    std::vector<int> result(parent_.size());
    for (std::size_t x = 0; x < result.size(); ++x) result[x] = find(static_cast<int>(x));
    return result;
  }

 private:
  std::vector<int> parent_;
};

}  // namespace chorale
