// The idea: parts are kept as they were found, one collective with one chunk count each. A result is
// assembled of them by the thread that puts something, and kept: whoever must end the program takes the one
// that is there. What is costly of a point (its sum of two parts, the verifier, its times at eight sizes) is
// found out once, and remembered by its address.
//
// Assembling has points without schedules, which are filled in for who asks; sums are made for costs that
// nothing dominates only. Where puts come faster than they are assembled some are left out, and the next, or
// the one who asks, makes up for it.
//
// What lost: assembling for each who asks. At a time limit on 64 ranks that simulated every point, for 9 of
// 12.8 CPU seconds. And timing each point as it comes: a second each on 64 ranks, in which others are found.
//
// What leaves has passed the verifier, and so has each AllReduce that might add something twice.
#include "pareto/findings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>

#include "bounds/check.h"
#include "construct/more_steps.h"
#include "ir/embedding.h"
#include "pareto/optimality.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void require_sound(const Topology& topology, const Collective& asked, const Point& point) {
  const std::vector<Fault> wrong = violations(topology, asked, point, 1);
  if (!wrong.empty()) throw std::logic_error("a schedule of our own is wrong: " + wrong.front().words);
}

// Those that no other dominates; of equals the first. `made`: the point of a candidate, null if it is none
// after all.
template <typename Candidate, typename Make>
std::vector<SharedPoint> undominated(std::vector<Candidate> candidates, const Make& made) {
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.cost.steps != b.cost.steps) return a.cost.steps < b.cost.steps;
    const int rate = compare_rate(a.cost, b.cost);
    return rate != 0 ? rate < 0 : a.cost.chunks < b.cost.chunks;
  });
  std::vector<SharedPoint> kept;
  for (Candidate& each : candidates)
    if (kept.empty() || compare_rate(each.cost, kept.back()->cost) < 0)
      if (SharedPoint point = made(each)) kept.push_back(std::move(point));
  return kept;
}

std::vector<SharedPoint> undominated(const std::vector<SharedPoint>& points) {
  struct Candidate {
    Cost cost = {};
    SharedPoint point = {};
  };
  std::vector<Candidate> candidates;
  for (const SharedPoint& point : points) candidates.push_back({.cost = point->cost, .point = point});
  return undominated(std::move(candidates), [](const Candidate& each) { return each.point; });
}

// Sizes at which latencies or rates decide, and some between; what has more sends decides nothing at the small ones, where
// the beaten ones win.
constexpr std::size_t kMostSends = 20'000;
constexpr double kFaster = 0.999;  // less is no reason to show one point more

bool is_small(const Point& point) {
  std::size_t sends = 0;
  for (const Step& step : point.schedule.steps) sends += step.sends.size();
  return sends <= kMostSends;
}

// Assembling may take a fifth of a search.
constexpr int kShare = 4;
constexpr milliseconds kOften{20};

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
  stop_ = options.synthesis.limits.stop;
  latest_ = std::make_shared<const Assembled>();
}

void Findings::put(const Key& key, const ChunkFrontier& part) {
  {
    const std::lock_guard lock(mutex_);
    parts_.told[key] = part;
    ++parts_.changes;
  }
  const std::unique_lock lock(assembling_, std::try_to_lock);
  if (lock && steady_clock::now() >= next_) assemble(false);
}

void Findings::time() {
  const std::lock_guard lock(assembling_);
  assemble(true);
}

void Findings::put_share(const Key& key, const std::vector<SharedPoint>& points) {
  const std::lock_guard lock(mutex_);
  std::vector<SharedPoint>& shares = parts_.shares[key];
  shares.insert(shares.end(), points.begin(), points.end());
  ++parts_.changes;
}

void Findings::put_bound(const Claim& claim) {
  const Rate rate = rate_shown(empty_.topology, of_kind(empty_.collective, claim.collective, claim.chunks),
                               claim.certificate);
  const std::lock_guard lock(mutex_);
  parts_.bounds[claim.collective] = claim;
  parts_.rates[claim.collective] = rate;
  ++parts_.changes;
}

// ReduceScatter, then Allgather: chunk d*c+i is summed up at rank d and spread from there. Null where that is
// no sum.
SharedPoint Findings::composed(const SharedPoint& scatter, const SharedPoint& gather) const {
  const auto [at, fresh] = composed_.try_emplace({scatter.get(), gather.get()});
  if (!fresh) return at->second;
  for (const SharedPoint& half : {scatter, gather}) known_[half.get()].point = half;
  const int ranks = empty_.topology.ranks;
  Point point{
      .method = Method::Composed,
      .construction = scatter->construction + " + " + gather->construction,
      .collective = of_kind(empty_.collective, CollectiveKind::AllReduce, ranks * scatter->cost.chunks)};
  point.schedule = sequence(scatter->schedule, gather->schedule);
  point.cost = {.steps = scatter->cost.steps + gather->cost.steps,
                .rounds = scatter->cost.rounds + gather->cost.rounds,
                .chunks = ranks * scatter->cost.chunks};
  point.seconds = scatter->seconds + gather->seconds;
  // A sum that was built over a root may be complete at a rank on its way, which must not get it again.
  const bool may_repeat = scatter->method != Method::Dual;
  if (may_repeat && !violations(empty_.topology, point.collective, point.schedule, 1).empty()) return {};
  // Two parts whose rounds exceed their steps by at most k may together exceed them by more; a step split,
  // and they do not.
  fit_in_more_steps(empty_.topology, point, empty_.space.extra_rounds);
  return at->second = std::make_shared<const Point>(std::move(point));
}

SharedPoint Findings::gathered(const SharedPoint& gather) const {
  const auto [at, fresh] = composed_.try_emplace({nullptr, gather.get()});
  if (!fresh) return at->second;
  known_[gather.get()].point = gather;
  Point point = *gather;
  point.method = Method::Gathered;
  point.collective = of_kind(empty_.collective, CollectiveKind::AllReduceByGather, gather->cost.chunks);
  fit_in_more_steps(empty_.topology, point, empty_.space.extra_rounds);
  return at->second = std::make_shared<const Point>(std::move(point));
}

// The points of a part, those that are its share of the k included; of as many steps and rounds the first.
std::vector<SharedPoint> Findings::shared(const Parts& parts, const Key& key) const {
  std::vector<SharedPoint> points;
  std::set<std::pair<int, int>> met;
  const auto add = [&](const std::vector<SharedPoint>& more) {
    for (const SharedPoint& point : more)
      if (met.insert({point->cost.steps, point->cost.rounds}).second) points.push_back(point);
  };
  if (const auto at = parts.told.find(key); at != parts.told.end()) add(at->second.points);
  if (const auto at = parts.shares.find(key); at != parts.shares.end()) add(at->second);
  return points;
}

std::vector<SharedPoint> Findings::composed_points(const Parts& parts, int min_chunks, int max_chunks) const {
  struct Candidate {
    Cost cost = {};
    SharedPoint scatter = {}, gather = {};
  };
  const Space& space = empty_.space;
  const auto made = [&](const Candidate& each) -> SharedPoint {
    return each.scatter ? composed(each.scatter, each.gather) : gathered(each.gather);
  };
  const auto inside = [&](const Cost& cost) {
    return cost.steps <= space.max_steps && cost.rounds <= most_rounds(space, cost.steps);
  };
  std::vector<Candidate> candidates;
  const auto add = [&](Candidate each) {
    // Where steps may be split the cost is known of the schedule only.
    if (space.extra_rounds != kAnyRounds) {
      const SharedPoint point = made(each);
      if (!point) return;
      each.cost = point->cost;
    }
    if (inside(each.cost)) candidates.push_back(std::move(each));
  };
  for (int chunks = min_chunks; chunks <= max_chunks; ++chunks)
    for (const SharedPoint& gather : shared(parts, {CollectiveKind::Allgather, chunks})) {
      add({.cost = gather->cost, .gather = gather});
      for (const SharedPoint& scatter : shared(parts, {CollectiveKind::ReduceScatter, chunks}))
        add({.cost = {.steps = scatter->cost.steps + gather->cost.steps,
                      .rounds = scatter->cost.rounds + gather->cost.rounds,
                      .chunks = empty_.topology.ranks * chunks},
             .scatter = scatter,
             .gather = gather});
    }
  return undominated(std::move(candidates), made);
}

std::vector<SharedPoint> Findings::composed_points(int min_chunks, int max_chunks) const {
  Parts parts;
  {
    const std::lock_guard lock(mutex_);
    parts = parts_;
  }
  const std::lock_guard lock(assembling_);
  return composed_points(parts, min_chunks, max_chunks);
}

// Times of those that are small enough, until the search is stopped.
void Findings::time_all(const std::vector<SharedPoint>& points) const {
  for (const SharedPoint& point : points) {
    Known& known = known_[point.get()];
    known.point = point;
    if (known.us || !is_small(*point)) continue;
    Times us = {};
    for (std::size_t i = 0; i < us.size(); ++i) {
      if (stop_ != nullptr && *stop_) return;
      us[i] = us_(*point, kSizes[i]);
    }
    known.us = us;
  }
}

// Of `beaten` what is faster at a size than all points, and than the others, of those whose times are known.
std::vector<SharedPoint> Findings::fastest_beaten(const std::vector<SharedPoint>& points,
                                                  const std::vector<SharedPoint>& beaten) const {
  const auto times = [&](const SharedPoint& point) -> const std::optional<Times>& {
    return known_[point.get()].us;
  };
  // Beside one that is not timed yet nothing is the fastest.
  if (std::ranges::any_of(points, [&](const SharedPoint& each) { return !times(each) && is_small(*each); }))
    return {};
  std::set<std::size_t> chosen;
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    double least = std::numeric_limits<double>::infinity();
    for (const SharedPoint& point : points)
      if (const auto& us = times(point)) least = std::min(least, kFaster * (*us)[size]);
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < beaten.size(); ++i)
      if (const auto& us = times(beaten[i]); us && (*us)[size] < least) {
        least = (*us)[size];
        best = i;
      }
    if (best) chosen.insert(*best);
  }
  std::vector<SharedPoint> fastest;
  for (const std::size_t i : chosen) fastest.push_back(beaten[i]);
  return fastest;
}

// What bounds say beyond what is claimed: of chunk counts that were not come to, and the rate of the
// collective itself, which whole rounds may hide.
std::vector<Claim> Findings::claims_of_bounds(const Parts& parts, const Result& known) const {
  const auto shows_rate = [](const Claim& claim) {
    const Certificate::Kind kind = claim.certificate.kind;
    return claim.steps == kAnySteps && kind != Certificate::Kind::Refutation;
  };
  std::vector<Claim> claims;
  for (const auto& [kind, bound] : parts.bounds) {
    const bool hidden =
        kind == empty_.collective.kind && std::ranges::none_of(known.claims, [&](const Claim& claim) {
          return claim.collective == kind && shows_rate(claim);
        });
    const Rate rate = parts.rates.at(kind);
    for (int chunks = empty_.space.min_chunks; chunks <= empty_.space.max_chunks; ++chunks) {
      Claim claim = bound;
      claim.chunks = chunks;
      if (chunks != bound.chunks) {
        claim.rounds = static_cast<int>((rate.rounds * chunks + rate.chunks - 1) / rate.chunks);
        if (claim.certificate.kind == Certificate::Kind::Entries)  // prices of a cut for any number of chunks
          claim.certificate = {.kind = Certificate::Kind::Weights, .prices = claim.certificate.prices};
      }
      if (claim.rounds > rounds_left(known, kind, chunks, kAnySteps) || (hidden && chunks == bound.chunks))
        claims.push_back(std::move(claim));
    }
  }
  return claims;
}

void Findings::assemble(bool with_times) const {
  const auto begun = steady_clock::now();
  Parts parts;
  {
    const std::lock_guard lock(mutex_);
    parts = parts_;
  }
  auto fresh = std::make_shared<Assembled>();
  std::set<Stopped> given_up;
  const bool allreduce = is_allreduce();
  const Space& space = empty_.space;
  std::vector<SharedPoint> points, beaten;
  if (allreduce) points = composed_points(parts, space.min_chunks, space.max_chunks);
  // The parts of an AllReduce first, as they were searched.
  std::vector<CollectiveKind> families = {CollectiveKind::ReduceScatter, CollectiveKind::Allgather,
                                          CollectiveKind::AllReduce};
  if (!allreduce) families = {empty_.collective.kind};
  Result& marked = fresh->marked;
  for (const CollectiveKind family : families)
    for (const auto& [key, part] : parts.told) {
      if (key.first != family) continue;
      marked.claims.insert(marked.claims.end(), part.claims.begin(), part.claims.end());
      for (const Stopped why : part.given_up) given_up.insert(why);
      if (family != empty_.collective.kind) continue;
      points.insert(points.begin(), part.points.begin(), part.points.end());
      beaten.insert(beaten.end(), part.beaten.begin(), part.beaten.end());
    }
  if (!given_up.empty()) fresh->given_up = *given_up.begin();
  marked.space = space;
  std::ranges::move(claims_of_bounds(parts, marked), std::back_inserter(marked.claims));
  if (allreduce) {
    if (us_) beaten.insert(beaten.end(), points.begin(), points.end());
    points = undominated(points);
  }
  const auto publish = [&] {
    for (const SharedPoint& point : points) {
      Known& known = known_[point.get()];
      known.point = point;
      if (!std::exchange(known.sound, true))
        require_sound(empty_.topology, with_chunks(empty_.collective, point->cost.chunks), *point);
    }
    // What mark() looks at.
    marked.kind = empty_.kind;
    marked.topology.ranks = empty_.topology.ranks;
    marked.collective.kind = empty_.collective.kind;
    marked.points.clear();
    for (const SharedPoint& point : points)
      marked.points.push_back({.cost = point->cost, .method = point->method, .seconds = point->seconds});
    fresh->points.clear();
    for (const std::size_t i : mark(marked)) fresh->points.push_back(points[i]);
    auto shown = std::make_shared<const Assembled>(*fresh);
    const std::lock_guard lock(mutex_);
    latest_.swap(shown);
  };
  publish();
  if (us_) {
    if (with_times) {
      time_all(points);
      time_all(beaten);
    }
    if (const std::vector<SharedPoint> fastest = fastest_beaten(points, beaten); !fastest.empty()) {
      points.insert(points.end(), fastest.begin(), fastest.end());
      publish();
    }
  }
  assembled_ = parts.changes;
  const auto ended = steady_clock::now();
  next_ = ended + std::max<steady_clock::duration>(kOften, kShare * (ended - begun));
}

Result Findings::filled(Stopped stopped, double seconds) const {
  std::shared_ptr<const Assembled> latest;
  {
    const std::lock_guard lock(mutex_);
    latest = latest_;
  }
  Result result = empty_;
  result.claims = latest->marked.claims;
  result.openings = latest->marked.openings;
  result.complete = latest->marked.complete;
  for (std::size_t i = 0; i < latest->points.size(); ++i) {
    const Point& marks = latest->marked.points[i];
    Point& point = result.points.emplace_back(*latest->points[i]);
    point.on_frontier = marks.on_frontier;
    point.proven = marks.proven;
    point.bound = marks.bound;
  }
  if (stopped == Stopped::No && latest->given_up) stopped = *latest->given_up;
  // Everything was asked that a formula can say, and yet something is open.
  if (stopped == Stopped::No) stopped = Stopped::NotExpressible;
  result.stopped = result.complete ? Stopped::No : stopped;
  result.seconds = seconds;
  return result;
}

Result Findings::result(Stopped stopped, double seconds) const {
  {
    const std::lock_guard lock(assembling_);
    assemble(true);
  }
  return filled(stopped, seconds);
}

Result Findings::so_far(Stopped stopped, double seconds) const {
  if (const std::unique_lock lock(assembling_, std::try_to_lock); lock) {
    int changes = 0;
    {
      const std::lock_guard told(mutex_);
      changes = parts_.changes;
    }
    if (assembled_ != changes) assemble(false);
  }
  return filled(stopped, seconds);
}

SearchLimits limits_of(const FrontierOptions& options) {
  SearchLimits limits{.memory_bytes = options.memory_bytes};
  if (options.synthesis.limits.conflicts >= 0) limits.conflicts = options.synthesis.limits.conflicts;
  if (options.time_limit.count() >= 0) limits.time_ms = options.time_limit.count();
  return limits;
}

namespace {

// Has some point the rate that no schedule of any chunk count beats?
bool meets_rate(const Result& result) {
  return std::ranges::any_of(result.claims, [&](const Claim& claim) {
    if (claim.collective != result.collective.kind || claim.steps != kAnySteps) return false;
    const Rate rate =
        rate_shown(result.topology, with_chunks(result.collective, claim.chunks), claim.certificate);
    return rate.rounds > 0 && std::ranges::any_of(result.points, [&](const Point& point) {
             return !less(rate, {.rounds = point.cost.rounds, .chunks = point.cost.chunks});
           });
  });
}

}  // namespace

void finish_result(Result& result) {
  const Collective& asked = result.collective;
  for (const Point& point : result.points)
    require_sound(result.topology, with_chunks(asked, point.cost.chunks), point);
  mark_verified(result);
}

void mark_verified(Result& result) {
  mark(result);
  if (result.kind == ResultKind::Algorithm && !meets_rate(result)) result.complete = false;
  if (result.complete) result.stopped = Stopped::No;
}

}  // namespace chorale
