// Orbits of indices under generators, by union-find; an orbit is named by its smallest member.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace chorale {

class Orbits {
 public:
  explicit Orbits(int size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }

  void join(int x, int y) {
    x = find(x);
    y = find(y);
    parent_[std::max(x, y)] = std::min(x, y);
  }

  std::vector<int> representatives() {
    std::vector<int> result(parent_.size());
    for (std::size_t x = 0; x < result.size(); ++x) result[x] = find(static_cast<int>(x));
    return result;
  }

 private:
  int find(int x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  std::vector<int> parent_;
};

}  // namespace chorale
