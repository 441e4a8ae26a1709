// What the engine constructs within the budget comes first; the solvers have what is left (chunk_search.h).
#include "pareto/synthesis_search.h"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>

#include "construct/engine.h"
#include "construct/incumbents.h"
#include "ir/agreement.h"
#include "pareto/chunk_search.h"
#include "pareto/findings.h"
#include "pareto/instance_solver.h"
#include "pareto/optimality.h"
#include "pareto/strongest_bounds.h"

namespace chorale {
namespace {

// Where sums are made at once an AllReduce of one value per rank may need links that are not there; copies
// pass through any rank. Those of that chunk count: vectors that are gathered, or parts of them and then
// sums.
std::vector<SharedPoint> made_of_copies(const Topology& topology, const Collective& one_chunk, int chunks,
                                        const FrontierOptions& options) {
  std::vector<SharedPoint> made;
  const auto add = [&](const std::vector<CollectiveKind>& kinds, int each) {
    Findings findings(topology, one_chunk, {.min_chunks = each, .max_chunks = each});
    for (const CollectiveKind kind : kinds) {
      const Collective one = of_kind(one_chunk, kind, 1);
      construct(
          {.topology = topology,
           .one = one,
           .min_chunks = each,
           .max_chunks = each,
           .stop = options.synthesis.limits.stop},
          [&](Point point) { findings.put(kind, std::make_shared<const Point>(std::move(point)), true); });
    }
    const ParetoSet found = findings.frontier();
    for (const SharedPoint& point : found.points())
      if (point->cost.chunks == chunks) made.push_back(point);
  };
  add({CollectiveKind::Allgather}, chunks);
  if (chunks % topology.ranks == 0)
    add({CollectiveKind::Alltoall, CollectiveKind::Allgather}, chunks / topology.ranks);
  return made;
}

// Of that chunk count, within the budget.
ParetoSet constructed(const Topology& topology, const Collective& one_chunk, const SynthesisQuestion& asked,
                      const FrontierOptions& options, const std::function<void(const SharedPoint&)>& found) {
  ParetoSet points;
  const auto put = [&](Point point) {
    if (point.cost.steps > asked.steps.value_or(kAnySteps) ||
        point.cost.rounds > asked.rounds.value_or(kAnyRounds))
      return;
    const auto shared = std::make_shared<const Point>(std::move(point));
    if (points.put(shared)) found(shared);
  };
  const Collective collective = with_chunks(one_chunk, asked.chunks);
  if (fewest_steps(topology, collective).steps == 0) return points;  // nothing moves
  construct({.topology = topology,
             .one = one_chunk,
             .min_chunks = asked.chunks,
             .max_chunks = asked.chunks,
             .stop = options.synthesis.limits.stop},
            put);
  if (one_chunk.kind == CollectiveKind::AllReduce && adds_once(one_chunk))
    for (const SharedPoint& point : made_of_copies(topology, one_chunk, asked.chunks, options)) put(*point);
  for (const Point& point : options.known)
    if (point.collective == collective) put(point);
  if (points.empty())
    for (Point& point : quick_incumbents(topology, collective)) put(std::move(point));
  return points;
}

}  // namespace

SynthesisResult search_synthesis(const Topology& topology, const Collective& one_chunk,
                                 const SynthesisQuestion& asked, const FrontierOptions& given) {
  FrontierOptions options = given;
  require_solver(options.synthesis);
  SearchClock clock(options);
  const Result empty{.kind = ResultKind::Synthesis,
                     .topology = topology,
                     .collective = one_chunk,
                     .space = {.min_chunks = asked.chunks,
                               .max_chunks = asked.chunks,
                               .max_steps = asked.steps.value_or(kAnySteps),
                               .max_rounds = asked.rounds.value_or(kAnyRounds)},
                     .limits = limits_of(options)};
  // The point of the fewest steps (or of those given) and the fewest rounds.
  const auto result_of = [](Result result, const ChunkFrontier& found, int steps, Stopped stopped,
                            double seconds) {
    if (result.space.max_steps == kAnySteps) result.space.max_steps = steps;
    if (const Point* const best = found.points.best_within(result.space.max_steps)) result.points = {*best};
    result.claims = found.claims;
    result.stopped = stopped;
    finish_result(result);
    result.seconds = seconds;
    return result;
  };
  // What is known while the search goes on, for any thread.
  struct Known {
    std::mutex mutex;
    ChunkFrontier found = {};
  };
  const auto known = std::make_shared<Known>();
  if (options.publish)
    options.publish([known, empty, result_of, started = std::chrono::steady_clock::now()] {
      const std::lock_guard lock(known->mutex);
      const std::vector<SharedPoint>& points = known->found.points.points();
      const int steps = points.empty() ? kAnySteps : points.back()->cost.steps;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
      return result_of(empty, known->found, steps, Stopped::TimeLimit, seconds.count());
    });
  const Collective collective = with_chunks(one_chunk, asked.chunks);
  ChunkQuestion question{.topology = topology, .collective = collective, .space = empty.space};
  question.found = [&](const SharedPoint& point) {
    const std::lock_guard lock(known->mutex);
    known->found.points.put(point);
  };
  question.claimed = [&](const Claim& claim) {
    const std::lock_guard lock(known->mutex);
    known->found.claims.push_back(claim);
  };
  // Beside what is constructed. Another engine than ours is asked for comparison: it is not helped.
  const bool ours = options.synthesis.engine == Engine::Sat, bounded = options.synthesis.use_bounds;
  StrongestBounds strongest(topology, one_chunk, options.synthesis.limits.stop);
  std::future<std::vector<Claim>> bounds;
  if (bounded) bounds = std::async(std::launch::async, [&] { return strongest.claims(asked.chunks); });
  if (ours) question.points = constructed(topology, one_chunk, asked, options, question.found);
  std::vector<Claim> claims;
  const auto claim = [&](const Claim& each) {
    claims.push_back(each);
    question.claimed(each);
  };
  if (bounded) std::ranges::for_each(bounds.get(), claim);
  if (ours) question.claims = claims;
  BudgetAnswer answer = search_budget(question, asked.steps, asked.rounds, options, clock);
  answer.found.claims.insert(answer.found.claims.begin(), claims.begin(), claims.end());
  // The search ends with a schedule within the budget, however far from the bound of its steps.
  if (const Point* const best = answer.found.points.best_within(answer.steps);
      best != nullptr && bounded && !clock.over())
    for (const Claim& each : strongest.claims(asked.chunks, best->cost.steps, best->cost.rounds))
      if (excludes_more(answer.found.claims, each)) answer.found.claims.push_back(each);
  Stopped stopped = Stopped::No;
  if (answer.verdict == Verdict::Unknown) {
    stopped = clock.why_stopped();
    if (stopped == Stopped::No) stopped = *answer.found.given_up.begin();
  }
  SynthesisResult whole{.verdict = answer.verdict,
                        .result = result_of(empty, answer.found, answer.steps, stopped, clock.seconds()),
                        .conflicts = answer.found.conflicts};
  // The limit came after all that was needed.
  if (whole.verdict == Verdict::Unknown && whole.result.complete)
    whole.verdict = whole.result.points.empty() ? Verdict::Unsat : Verdict::Sat;
  return whole;
}

}  // namespace chorale
