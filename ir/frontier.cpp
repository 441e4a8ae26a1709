#include "ir/frontier.h"

namespace chorale {

int compare_rate(const Cost& a, const Cost& b) {
  const std::int64_t left = static_cast<std::int64_t>(a.rounds) * b.chunks;
  const std::int64_t right = static_cast<std::int64_t>(b.rounds) * a.chunks;
  return left < right ? -1 : left > right ? 1 : 0;
}

bool dominates(const Cost& a, const Cost& b) {
  const int rate = compare_rate(a, b);
  return a.steps <= b.steps && rate <= 0 && (a.steps < b.steps || rate < 0);
}

}  // namespace chorale
