// A placeholder: what was constructed for one chunk count, for a few of them: the least ones, and multiples of the bound's
// denominator.
#include "construct/engine.h"

#include <set>

#include "construct/composition.h"
#include "construct/incumbents.h"
#include "ir/pareto_set.h"

namespace chorale {
namespace {

std::set<int> counts(const EngineQuestion& asked) {
  std::set<int> all = {asked.min_chunks};
  const long long most = asked.max_chunks > 0 ? asked.max_chunks : 4096;
  const auto add = [&](long long count) {
    if (count >= asked.min_chunks && count <= most) all.insert(static_cast<int>(count));
  };
  for (const int count : {2, 3, 4}) add(count);
  for (const int times : {1, 2, 4}) add(times * asked.bound.chunks);
  return all;
}

}  // namespace

void construct(const EngineQuestion& asked, const std::function<void(Point)>& found) {
  ParetoSet best;
  const auto take = [&](std::vector<Point> points) {
    for (Point& point : points) {
      if (point.cost.steps > asked.max_steps || best.covers(point.cost)) continue;
      best.put(std::make_shared<const Point>(point));
      found(std::move(point));
    }
  };
  const auto over = [&] { return asked.stop != nullptr && *asked.stop; };
  for (const int chunks : counts(asked)) {
    const Collective collective = with_chunks(asked.one, chunks);
    take(incumbents(asked.topology, collective, asked.stop, asked.extra_rounds));
    if (over() || asked.work < kEngineWork) return;
    take(grown_incumbents(asked.topology, collective, asked.stop, asked.extra_rounds));
    std::vector<Point> composed;
    for (ComposedPoint& each : compose_on({.topology = asked.topology,
                               .collective = collective,
                               .extra_rounds = asked.extra_rounds,
                               .stop = asked.stop},
                                          nestings(asked.topology)))
      composed.push_back(std::move(each.point));
    take(std::move(composed));
    if (over()) return;
  }
}

}  // namespace chorale
