#include "pareto/optimality.h"

#include <algorithm>
#include <vector>

namespace chorale {
namespace {

// Rounds per chunk, exactly; kNoSchedule rounds is infinity.
struct Rate {
  long long rounds = kNoSchedule;
  long long chunks = 1;
};

bool less(const Rate& a, const Rate& b) {
  if (a.rounds == kNoSchedule || b.rounds == kNoSchedule) return a.rounds != kNoSchedule;
  return a.rounds * b.chunks < b.rounds * a.chunks;
}

bool allreduce_asked(const Result& result) {
  return result.collective.name == "allreduce" && !result.collective.custom;
}

Rate composed(const Result& result, int chunks, int steps) {
  Rate best;
  best.chunks = static_cast<long long>(chunks) * result.topology.ranks;
  for (int first = 0; first <= steps; ++first) {
    const int a = rounds_left(result, "reducescatter", chunks, first);
    const int b = rounds_left(result, "allgather", chunks, steps - first);
    if (a != kNoSchedule && b != kNoSchedule)
      best.rounds = std::min(best.rounds, static_cast<long long>(a) + b);
  }
  return best;
}

// The best rate that the claims leave possible for this chunk count: of all families, or of the point's own.
Rate rate_left(const Result& result, int chunks, int steps, const std::string& method) {
  if (!allreduce_asked(result)) return {rounds_left(result, result.collective.name, chunks, steps), chunks};
  Rate best;
  const auto consider = [&best](const Rate& rate) {
    if (less(rate, best)) best = rate;
  };
  if (method.empty() || method == "direct")
    consider({rounds_left(result, "allreduce", chunks, steps), chunks});
  if (method.empty() || method == "reduce_scatter+allgather") consider(composed(result, chunks, steps));
  if (method.empty() || method == "gather+local_reduce")
    consider({rounds_left(result, "allgather", chunks, steps), chunks});
  return best;
}

}  // namespace

int rounds_left(const Result& result, const std::string& collective, int chunks, int steps) {
  int rounds = 0;
  for (const Claim& claim : result.claims) {
    if (claim.collective != collective || claim.chunks != chunks) continue;
    // With more steps than claimed: either no more of them are used, or there are as many rounds as steps.
    const bool covers = claim.steps >= steps;
    rounds = std::max(rounds, covers ? claim.rounds : std::min(claim.rounds, claim.steps + 1));
  }
  if (rounds != kNoSchedule && result.extra_rounds >= 0 && rounds > steps + result.extra_rounds)
    return kNoSchedule;
  return rounds;
}

bool is_proven(const Result& result, const Point& point) {
  const Rate own = {point.cost.rounds, point.cost.chunks};
  const auto holds_against = [&](int chunks, const std::string& method) {
    return !less(rate_left(result, chunks, point.cost.steps, method), own) &&
           less(own, rate_left(result, chunks, point.cost.steps - 1, method));
  };
  if (!point.on_frontier) return holds_against(point.collective.chunks_per_block, point.method);
  for (int chunks = result.min_chunks; chunks <= result.max_chunks; ++chunks)
    if (!holds_against(chunks, "")) return false;
  return true;
}

void mark(Result& result) {
  std::stable_sort(result.points.begin(), result.points.end(), [](const Point& a, const Point& b) {
    return std::pair(a.cost.chunks, a.cost.steps) < std::pair(b.cost.chunks, b.cost.steps);
  });
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    Point& point = result.points[i];
    point.on_frontier = true;
    for (std::size_t j = 0; j < result.points.size(); ++j) {
      const Cost& other = result.points[j].cost;
      const bool same = other.steps == point.cost.steps && compare_rate(other, point.cost) == 0;
      if (dominates(other, point.cost) || (same && j < i)) point.on_frontier = false;
    }
  }
  for (Point& point : result.points) point.proven = is_proven(result, point);
}

}  // namespace chorale
