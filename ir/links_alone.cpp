#include "ir/links_alone.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/undominated.h"

namespace chorale {
namespace {

constexpr const char* kForwardOnly = " whose switches only forward";

}  // namespace

// The limit on what a switch delivers stays: plain sends never meet it (topology/switches.cpp).
Topology by_links_alone(Topology machine) {
  if (!abilities_of(machine).any()) return machine;
  machine.abilities.clear();
  machine.switch_gain = 0;
  for (SharedLimit& limit : machine.limits) limit.abilities = {};
  machine.name += kForwardOnly;
  return machine;
}

Hierarchy by_links_alone(Hierarchy machine) {
  bool any = false;
  for (Level& level : machine.levels) any = std::exchange(level.link.switch_gain, 0) > 0 || any;
  if (any) machine.name += kForwardOnly;
  return machine;
}

bool uses_abilities(const Topology& topology, const Schedule& schedule) {
  if (!abilities_of(topology).any()) return false;
  const Topology plain = by_links_alone(topology);
  return std::ranges::any_of(schedule.steps,
                             [&](const Step& step) { return needed_rounds(plain, step) > step.rounds; });
}

Result by_links_alone(Result result) {
  if (!abilities_of(result.topology).any()) return result;
  result.topology = by_links_alone(std::move(result.topology));
  for (Point& point : result.points) {
    for (Step& step : point.schedule.steps) step.rounds = needed_rounds(result.topology, step);
    point.cost.rounds = total_rounds(point.schedule);
    point.proven = false;
  }
  std::vector<int> all(result.points.size());
  std::iota(all.begin(), all.end(), 0);
  mark_frontier(result, all);
  result.complete = false;
  result.complete_chunks = kNotStated;
  result.openings.clear();
  result.time_claims.clear();
  return result;
}

void mark_frontier(Result& result, const std::vector<int>& points) {
  std::vector<int> kept;
  for (const int i : points)
    keep_undominated(kept, i,
                     [&](int a, int b) { return is_as_good(result.points[a].cost, result.points[b].cost); });
  for (Point& point : result.points) point.on_frontier = false;
  for (const int i : kept) result.points[i].on_frontier = true;
}

}  // namespace chorale
