// AllReduces composed of their phases: a ReduceScatter and then an Allgather, cut to a common chunk count, or
// an Allgather of whole vectors with local sums. Where sums are made at once an Alltoall brings the parts of
// all vectors to the ranks that add them up, in place of a ReduceScatter. A composition has to be made and
// verified, which costs more than all else here; so costs are added first, and only what no point dominates
// is made, each pair once.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "construct/more_steps.h"
#include "graph/embedding.h"
#include "pareto/findings.h"
#include "pareto/optimality.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

constexpr int kMostOfFewChunks = 4;  // numbers of steps
constexpr int kManyChunks = 512;
constexpr double kTrifle = 1.002, kNearer = 0.85;
// Sends of compositions that are made and verified after a limit: a tenth of a second.
constexpr long long kMostLate = 300'000;

}  // namespace

// Has a composition of many chunks hardly a better rate than what takes fewer steps? As construct/engine.h
// has it.
bool Findings::is_trifle(const Cost& cost, const ParetoSet& known, double bound) {
  const Point* const best = known.best_within(cost.steps - 1);
  if (cost.chunks < kManyChunks || best == nullptr) return false;
  const double rate = rate_of(cost), before = rate_of(best->cost);
  return before <= kTrifle * rate || rate - bound > kNearer * (before - bound);
}

// ReduceScatter, then Allgather: chunk d*c+i is summed up at rank d and spread from there. Null where the
// result is not a sum. Without a ReduceScatter whole vectors are gathered, and each rank adds them up.
SharedPoint Findings::made(const Composition& of) const {
  const auto [at, fresh] = made_.try_emplace({of.scatter.get(), of.gather.get()});
  if (!fresh) return at->second;
  for (const SharedPoint& phase : {of.scatter, of.gather})
    if (phase) known_[phase.get()].point = phase;
  Point point;
  if (of.scatter) {
    const int chunks = of.cost.chunks / empty_.topology.ranks;
    const CollectiveKind first = of.scatter->collective.kind;
    Schedule gather = cut_finer(of.gather->schedule, chunks / of.gather->cost.chunks);
    if (first == CollectiveKind::Alltoall)
      for (Step& step : gather.steps)
        for (Send& send : step.sends) send.chunk += empty_.topology.ranks * of.cost.chunks;
    point = {.cost = of.cost,
             .method = Method::Composed,
             .construction = of.scatter->construction + " + " + of.gather->construction,
             .collective = of_kind(empty_.collective, kind_of_both(first), of.cost.chunks),
             .schedule = sequence(cut_finer(of.scatter->schedule, chunks / of.scatter->cost.chunks),
                                  std::move(gather)),
             .reduce_scatter_steps = of.scatter->cost.steps,
             .seconds = std::max(of.scatter->seconds, of.gather->seconds)};
    // A sum that was built over a root may be complete at a rank on its path, which must not get it again.
    const bool may_repeat = of.scatter->method != Method::Dual;
    if (may_repeat && !violations(empty_.topology, point.collective, point.schedule, 1).empty()) return {};
  } else {
    point = *of.gather;
    point.method = Method::Gathered;
    point.collective = of_kind(empty_.collective, CollectiveKind::AllReduceByGather, of.cost.chunks);
  }
  // Two phases whose rounds exceed their steps by at most k may together exceed them by more. Then steps are
  // split until they do not.
  fit_in_more_steps(empty_.topology, point, empty_.space.extra_rounds);
  return at->second = std::make_shared<const Point>(std::move(point));
}

bool Findings::inside(const Cost& cost) const {
  const Space& space = empty_.space;
  return cost.steps <= space.max_steps && cost.rounds <= most_rounds(space, cost.steps);
}

// Both phases cut as fine as the finer, or as their least common multiple. Compositions with too many sends
// to be of use are left out; with a thousand ranks, one chunk of each has two million.
std::vector<Findings::Composition> Findings::compositions(const Parts& parts) const {
  constexpr long long kMostComposed = 1 << 20, kMostOfOne = 1 << 22;
  std::vector<Composition> all;
  const auto add = [&](Composition each) {
    // Where steps may be split the cost is known of the schedule only.
    if (empty_.space.extra_rounds != kAnyRounds) {
      const SharedPoint point = made(each);
      if (!point) return;
      each.cost = point->cost;
    }
    if (inside(each.cost)) all.push_back(std::move(each));
  };
  const auto at = parts.phases.find(CollectiveKind::Allgather);
  if (at == parts.phases.end()) return all;
  std::vector<SharedPoint> scatters;
  for (const CollectiveKind first : first_phases(empty_.collective))
    if (const auto of = parts.phases.find(first); of != parts.phases.end())
      scatters.insert(scatters.end(), of->second.begin(), of->second.end());
  const long long ranks = empty_.topology.ranks;
  for (const SharedPoint& gather : at->second) {
    const Cost& g = gather->cost;
    add({.cost = g, .gather = gather});
    for (const SharedPoint& scatter : scatters) {
      const Cost& s = scatter->cost;
      const long long chunks = std::lcm<long long>(s.chunks, g.chunks);
      const long long most = chunks == 1 ? kMostOfOne : kMostComposed;
      if (chunks > empty_.space.max_chunks || 2 * chunks * ranks * (ranks - 1) > most) continue;
      add({.cost = {.steps = s.steps + g.steps,
                    .rounds =
                        static_cast<int>(s.rounds * (chunks / s.chunks) + g.rounds * (chunks / g.chunks)),
                    .chunks = static_cast<int>(ranks * chunks)},
           .scatter = scatter,
           .gather = gather});
    }
  }
  return all;
}

// Compositions are made for costs that nothing dominates only, and large ones not for a trifle, since each
// has to be made and verified; once the search is stopped, those alone that take no time, or one if there is
// nothing else.
ParetoSet Findings::merged(const Parts& parts, std::vector<SharedPoint>* beaten) const {
  ParetoSet merged = parts.direct;
  if (!is_allreduce()) return merged;
  std::vector<Composition> all = compositions(parts);
  std::ranges::stable_sort(all, [](const Composition& a, const Composition& b) {
    if (a.cost.steps != b.cost.steps) return a.cost.steps < b.cost.steps;
    const int rate = compare_rate(a.cost, b.cost);
    return rate != 0 ? rate < 0 : a.cost.chunks < b.cost.chunks;
  });
  const Rate least = rate_bound(empty_.collective.kind, parts.claims);
  const double bound = static_cast<double>(least.rounds) / static_cast<double>(least.chunks);
  const bool is_late = this->is_late();
  // Of phases that better ones replaced, too: there may be no time for theirs.
  if (is_late)
    for (const auto& [phases, point] : made_)
      if (point && inside(point->cost)) merged.put(point, beaten);
  long long late = kMostLate;
  for (const Composition& each : all) {
    const bool is_made = made_.contains({each.scatter.get(), each.gather.get()});
    // Whether it was made before depends on when findings were assembled, and decides nothing.
    if (merged.covers(each.cost) || is_trifle(each.cost, merged, bound)) continue;
    if (!is_made && is_late) {
      const long long ranks = empty_.topology.ranks;
      const long long sends = each.cost.chunks * (ranks - 1) * (each.scatter ? 2 : ranks);
      if (sends > late && !merged.points().empty()) continue;  // a smaller one may come
      late -= sends;
    }
    if (const SharedPoint point = made(each)) merged.put(point, beaten);
  }
  if (beaten != nullptr) add_of_few_chunks(all, merged, *beaten);
  if (beaten != nullptr) add_of_replaced(parts, *beaten);
  return merged;
}

// Phases that better ones replaced may make what is the fastest at a size, whether or not they were composed
// before: when findings were assembled decides nothing. Those of the best rate first.
void Findings::add_of_replaced(const Parts& parts, std::vector<SharedPoint>& beaten) const {
  const auto with_replaced = [&](CollectiveKind kind) {
    std::vector<std::pair<SharedPoint, bool>> all;  // with whether it was replaced
    for (const auto* const from : {&parts.phases, &parts.replaced})
      if (const auto at = from->find(kind); at != from->end())
        for (const SharedPoint& phase : at->second) all.emplace_back(phase, from == &parts.replaced);
    return all;
  };
  std::vector<Composition> pairs;
  for (const auto& [gather, was_replaced] : with_replaced(CollectiveKind::Allgather))
    for (const CollectiveKind first : first_phases(empty_.collective))
      for (const auto& [scatter, too] : with_replaced(first))
        if (was_replaced || too)
          for (Composition& each :
               compositions({.phases = {{CollectiveKind::Allgather, {gather}}, {first, {scatter}}}}))
            if (each.scatter) pairs.push_back(std::move(each));
  std::ranges::stable_sort(
      pairs, [](const Composition& a, const Composition& b) { return compare_rate(a.cost, b.cost) < 0; });
  long long late = kMostLate;
  for (const Composition& each : pairs) {
    late -= 2LL * each.cost.chunks * (empty_.topology.ranks - 1);
    if (late < 0) return;
    if (const SharedPoint point = made(each)) beaten.push_back(point);
  }
}

// Where links differ, few large messages may be faster at small sizes than more of less rounds per chunk: of
// each number of steps, the fewest first, the gathering of the fewest chunks, and the composition of two
// phases.
void Findings::add_of_few_chunks(const std::vector<Composition>& by_steps, const ParetoSet& merged,
                                 std::vector<SharedPoint>& beaten) const {
  std::map<std::pair<int, bool>, const Composition*> fewest;
  for (const Composition& each : by_steps) {
    const Composition*& best = fewest[{each.cost.steps, each.scatter != nullptr}];
    if (best == nullptr || each.cost.chunks < best->cost.chunks) best = &each;
  }
  int left = kMostOfFewChunks;
  for (const auto& [kind, each] : fewest) {
    if (left-- == 0) return;
    if (const SharedPoint point = made(*each);
        point && is_small(*point) && merged.covers(point->cost) &&
        std::ranges::find(merged.points(), point) == merged.points().end())
      beaten.push_back(point);
  }
}

}  // namespace chorale
