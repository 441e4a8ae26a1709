// What a slot holds, as a formal sum of inputs: how often each place is in it.
#pragma once

#include <utility>
#include <vector>

namespace chorale {

// Places are input slots of ranks, numbered through; sorted by place.
using SymbolicSum = std::vector<std::pair<int, int>>;

inline SymbolicSum added(const SymbolicSum& a, const SymbolicSum& b) {
  SymbolicSum result;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      result.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      result.push_back(*j++);
    } else {
      result.push_back({i->first, i->second + j->second});
      ++i, ++j;
    }
  }
  return result;
}

}  // namespace chorale
