// What nothing else that was found is as good as: the Pareto set of points, schedules or any other values.
#pragma once

#include <algorithm>
#include <utility>

#include "ir/frontier.h"

namespace chorale {

// Returns whether the first takes no more steps, and no more rounds per chunk.
inline bool is_as_good(const Cost& a, const Cost& b) {
  return a.steps <= b.steps && compare_rate(a, b) <= 0;
}

// Puts the value at the end of what is kept unless one of these is as good, and drops those that it is as
// good as: of equals the first stays. Returns whether it was put.
template <typename Values, typename Value, typename AsGood>
bool keep_undominated(Values& kept, Value value, AsGood as_good) {
  if (std::ranges::any_of(kept, [&](const auto& other) { return as_good(other, value); })) return false;
  std::erase_if(kept, [&](const auto& other) { return as_good(value, other); });
  kept.insert(kept.end(), std::move(value));
  return true;
}

}  // namespace chorale
