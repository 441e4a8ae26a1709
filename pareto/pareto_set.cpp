// Points are kept by increasing steps and, since no point dominates another, by decreasing rate. So the best
// within a number of steps is the last one with no more.
#include "pareto/pareto_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace chorale {
namespace {

bool costs_the_same(const Cost& a, const Cost& b) {
  return a.steps == b.steps && compare_rate(a, b) == 0;
}

// Of two that cost the same.
// Fewer chunks give shorter programs; a gathered point needs room for all contributions, and comes last.
bool is_preferred(const Point& a, const Point& b) {
  const auto rank = [](const Point& point) {
    return std::tuple(point.method == Method::Gathered, point.cost.chunks);
  };
  return rank(a) < rank(b);
}

}  // namespace

const Point* ParetoSet::best_within(int steps) const {
  const Point* best = nullptr;
  for (const SharedPoint& point : points_)
    if (point->cost.steps <= steps) best = point.get();
  return best;
}

bool ParetoSet::has(const Point& point) const {
  return std::ranges::any_of(points_, [&](const SharedPoint& other) { return is_same(*other, point); });
}

bool is_same(const Point& a, const Point& b) {
  return a.cost == b.cost && a.construction == b.construction && a.schedule == b.schedule;
}

bool ParetoSet::covers(const Cost& cost) const {
  const Point* const best = best_within(cost.steps);
  return best != nullptr && compare_rate(best->cost, cost) <= 0;
}

// A point of equal cost replaces the one that is there only if it is preferred; of two that are alike the
// first stays. The new point is compared with the best of no more steps alone: that one has the lowest rate
// among all that could dominate it. Dropped points go to `beaten` before they are erased.
bool ParetoSet::put(SharedPoint point, std::vector<SharedPoint>* beaten) {
  const auto drop = [beaten](SharedPoint& dropped) {
    if (beaten != nullptr) beaten->push_back(std::move(dropped));
  };
  if (const Point* const best = best_within(point->cost.steps);
      best != nullptr && compare_rate(best->cost, point->cost) <= 0 &&
      !(costs_the_same(best->cost, point->cost) && is_preferred(*point, *best))) {
    drop(point);
    return false;
  }
  std::erase_if(points_, [&](SharedPoint& other) {
    const bool worse = dominates(point->cost, other->cost) || costs_the_same(point->cost, other->cost);
    if (worse) drop(other);
    return worse;
  });
  const auto place = std::ranges::find_if(
      points_, [&](const SharedPoint& other) { return other->cost.steps > point->cost.steps; });
  points_.insert(place, std::move(point));
  return true;
}

}  // namespace chorale
