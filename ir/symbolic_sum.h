// What a slot holds, as a formal sum of inputs: how often each place is in it.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace chorale {

// Places are input slots of ranks, numbered through; sorted by place.
using SymbolicSum = std::vector<std::pair<int, int>>;

// Counts stay where they get to this: a program can double them with every instruction.
inline constexpr int kMostTimes = 1'000'000;

inline SymbolicSum added(const SymbolicSum& a, const SymbolicSum& b) {
  SymbolicSum result;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      result.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      result.push_back(*j++);
    } else {
      result.push_back({i->first, std::min(i->second + j->second, kMostTimes)});
      ++i, ++j;
    }
  }
  return result;
}

// Terms in any order, made a sum.
inline SymbolicSum collected(SymbolicSum terms) {
  std::sort(terms.begin(), terms.end());
  SymbolicSum result;
  for (const auto& [place, times] : terms)
    if (!result.empty() && result.back().first == place)
      result.back().second = std::min(result.back().second + times, kMostTimes);
    else
      result.push_back({place, times});
  return result;
}

}  // namespace chorale
