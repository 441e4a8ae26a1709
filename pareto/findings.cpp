// The idea: parts are kept as they were found, one collective with one chunk count each, and nothing is kept that follows from
// them: composing, merging and marking are done for each who asks, on what is there. So there is an answer at any time, and the
// last one is that of all parts, whatever the order in which they came.
//
// What leaves has passed the referee, and so has each AllReduce that might add something twice: finish_result, composed_points.
#include "pareto/findings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>

#include "construct/more_steps.h"
#include "ir/embedding.h"
#include "pareto/optimality.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

void require_sound(const Topology& topology, const Collective& asked, const Point& point) {
  const std::vector<Fault> wrong = violations(topology, asked, point, 1);
  if (!wrong.empty()) throw std::logic_error("a schedule of our own is wrong: " + wrong.front().words);
}

// ReduceScatter, then Allgather: chunk d*c+i is summed up at rank d and spread from there.
Point composed(const Point& scatter, const Point& gather, int ranks) {
  Point point{.method = Method::Composed,
              .collective = make_collective(CollectiveKind::AllReduce, ranks, ranks * scatter.cost.chunks)};
  point.schedule = sequence(scatter.schedule, gather.schedule);
  point.cost = {.steps = scatter.cost.steps + gather.cost.steps,
                .rounds = scatter.cost.rounds + gather.cost.rounds,
                .chunks = ranks * scatter.cost.chunks};
  point.seconds = scatter.seconds + gather.seconds;
  return point;
}

Point gathered(const Point& gather, int ranks) {
  Point point = gather;
  point.method = Method::Gathered;
  point.collective = make_collective(CollectiveKind::AllReduceByGather, ranks, gather.cost.chunks);
  return point;
}

// Only what no other point dominates; of equals the first.
void keep_undominated(std::vector<Point>& points) {
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    if (a.cost.steps != b.cost.steps) return a.cost.steps < b.cost.steps;
    const int rate = compare_rate(a.cost, b.cost);
    return rate != 0 ? rate < 0 : a.cost.chunks < b.cost.chunks;
  });
  std::vector<Point> kept;
  for (Point& point : points)
    if (kept.empty() || compare_rate(point.cost, kept.back().cost) < 0) kept.push_back(std::move(point));
  points = std::move(kept);
}

// Sizes at which latencies or rates decide, and some between; what has more sends decides nothing at the small ones, where
// the beaten ones win.
constexpr std::array kSizes = {1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
constexpr std::size_t kMostSends = 20'000;
constexpr double kFaster = 0.999;  // less is no reason to show one point more

// Of `beaten` what is faster at a size than all points, and than the others.
std::vector<Point> fastest_beaten(const std::vector<Point>& points, const std::vector<Point>& beaten,
                                  const std::function<double(const Point&, double)>& us) {
  const auto small = [](const Point& point) {
    std::size_t sends = 0;
    for (const Step& step : point.schedule.steps) sends += step.sends.size();
    return sends <= kMostSends;
  };
  std::set<std::size_t> chosen;
  for (const double bytes : kSizes) {
    double least = std::numeric_limits<double>::infinity();
    for (const Point& point : points)
      if (small(point)) least = std::min(least, kFaster * us(point, bytes));
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < beaten.size(); ++i)
      if (const double time = small(beaten[i]) ? us(beaten[i], bytes) : least; time < least) {
        least = time;
        best = i;
      }
    if (best) chosen.insert(*best);
  }
  std::vector<Point> fastest;
  for (const std::size_t i : chosen) fastest.push_back(beaten[i]);
  return fastest;
}

}  // namespace

Findings::Findings(const Topology& topology, const Collective& asked, const FrontierOptions& options) {
  empty_.topology = topology;
  empty_.collective = asked;
  empty_.space = {.min_chunks = options.min_chunks,
                  .max_chunks = options.max_chunks,
                  .max_steps = options.max_steps,
                  .extra_rounds = options.extra_rounds};
  empty_.limits = limits_of(options);
  us_ = options.us;
}

void Findings::put(const Key& key, const ChunkFrontier& part) {
  const std::lock_guard lock(mutex_);
  parts_[key] = part;
}

void Findings::put_share(const Key& key, const std::vector<Point>& points) {
  const std::lock_guard lock(mutex_);
  std::vector<Point>& shares = shares_[key];
  shares.insert(shares.end(), points.begin(), points.end());
}

// The points of a part, those that are its share of the k included; of as many steps and rounds the first.
std::vector<Point> Findings::shared(const Key& key) const {
  const std::lock_guard lock(mutex_);
  std::vector<Point> points;
  std::set<std::pair<int, int>> met;
  const auto add = [&](const std::vector<Point>& more) {
    for (const Point& point : more)
      if (met.insert({point.cost.steps, point.cost.rounds}).second) points.push_back(point);
  };
  if (const auto at = parts_.find(key); at != parts_.end()) add(at->second.points);
  if (const auto at = shares_.find(key); at != shares_.end()) add(at->second);
  return points;
}

std::vector<Point> Findings::composed_points(int min_chunks, int max_chunks) const {
  std::vector<Point> points;
  for (int chunks = min_chunks; chunks <= max_chunks; ++chunks)
    for (const Point& gather : shared({CollectiveKind::Allgather, chunks})) {
      points.push_back(gathered(gather, empty_.topology.ranks));
      for (const Point& scatter : shared({CollectiveKind::ReduceScatter, chunks})) {
        Point both = composed(scatter, gather, empty_.topology.ranks);
        // A sum that was built over a root may be complete at a rank on its way, which must not get it again.
        const bool may_repeat = scatter.method != Method::Dual;
        if (!may_repeat || violations(empty_.topology, both.collective, both.schedule, 1).empty())
          points.push_back(std::move(both));
      }
    }
  // Two parts whose rounds exceed their steps by at most k may together exceed them by more; a step split, and
  // they do not.
  const Space& space = empty_.space;
  for (Point& point : points) fit_in_more_steps(empty_.topology, point, space.extra_rounds);
  std::erase_if(points, [&space](const Point& p) {
    return p.cost.steps > space.max_steps || p.cost.rounds > most_rounds(space, p.cost.steps);
  });
  keep_undominated(points);
  return points;
}

Result Findings::result(Stopped stopped, double seconds) const {
  Result result = empty_;
  std::set<Stopped> given_up;
  const bool allreduce = is_allreduce();
  if (allreduce) result.points = composed_points(result.space.min_chunks, result.space.max_chunks);
  // The parts of an AllReduce first, as they were searched.
  std::vector<CollectiveKind> families = {CollectiveKind::ReduceScatter, CollectiveKind::Allgather,
                                          CollectiveKind::AllReduce};
  if (!allreduce) families = {result.collective.kind};
  std::vector<Point> beaten;
  const std::unique_lock lock(mutex_);
  for (const CollectiveKind family : families)
    for (const auto& [key, part] : parts_) {
      if (key.first != family) continue;
      result.claims.insert(result.claims.end(), part.claims.begin(), part.claims.end());
      for (const Stopped why : part.given_up) given_up.insert(why);
      if (family != result.collective.kind) continue;
      result.points.insert(result.points.begin(), part.points.begin(), part.points.end());
      beaten.insert(beaten.end(), part.beaten.begin(), part.beaten.end());
    }
  if (allreduce) {
    if (us_) beaten.insert(beaten.end(), result.points.begin(), result.points.end());
    keep_undominated(result.points);
  }
  if (us_) {
    const std::vector<Point> fastest = fastest_beaten(result.points, beaten, us_);
    result.points.insert(result.points.end(), fastest.begin(), fastest.end());
  }
  if (stopped == Stopped::No && !given_up.empty()) stopped = *given_up.begin();
  result.stopped = stopped;
  finish_result(result);
  // Everything was asked that a formula can say, and yet something is open.
  if (!result.complete && result.stopped == Stopped::No) result.stopped = Stopped::NotExpressible;
  result.seconds = seconds;
  return result;
}

SearchLimits limits_of(const FrontierOptions& options) {
  SearchLimits limits{.memory_bytes = options.memory_bytes};
  if (options.synthesis.limits.conflicts >= 0) limits.conflicts = options.synthesis.limits.conflicts;
  if (options.time_limit.count() >= 0) limits.time_ms = options.time_limit.count();
  return limits;
}

void finish_result(Result& result) {
  const Collective& asked = result.collective;
  for (const Point& point : result.points)
    require_sound(result.topology, with_chunks(asked, point.cost.chunks), point);
  mark(result);
  if (result.complete) result.stopped = Stopped::No;
}

}  // namespace chorale
