// The idea: findings are kept by their subject, the collective or a phase of it, whatever the chunk count.
// The thread that puts a finding assembles a result and keeps it: a thread that must end the program takes
// the latest. Costly properties of a point (its composition of two phases, the verdict, its times at some
// sizes) are computed once, and remembered by its address.
//
// Assembling has points without schedules, which are filled in on request; compositions are made only for
// costs that are not dominated. If puts come faster than results are assembled, some are left out, and the
// next put, or the next request, includes them.
//
// What lost: assembling for each request. At a time limit on 64 ranks that simulated every point, for 9 of
// 12.8 CPU seconds. And timing every point as it comes: a second each on 64 ranks, in which others are found.
//
// What leaves has passed the verifier, and so has each AllReduce that might add something twice.
#include "pareto/findings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "bounds/check.h"
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

// Sizes at which latencies or rates decide, and some between; what has more sends decides nothing at the
// small ones, where the beaten ones win.
constexpr double kSizes[] = {1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
constexpr long long kMostSends = 20'000;
constexpr double kMostTimedLate = 5'000;  // sends, when the search is stopped: a tenth of a second
// Sends that an assembly simulates. Without it small points that only time favours are not timed before the
// search is stopped, and lost then: dgx-a100:2 AllReduce at 1 MiB took 19.7 us after 2 s, and 26.0 after 6.
constexpr double kMostTimedAsTheyCome = 1'000;
constexpr double kNear = 1.1;
constexpr double kFaster = 0.9999;  // a smaller gain does not justify one more point

constexpr int kMostReplaced = 16;  // of each phase

bool is_over(const std::atomic<bool>* stop) {
  return stop != nullptr && *stop;
}

// The phases of an AllReduce first, what holds for any chunk count before what holds for one: whichever
// thread was first.
std::vector<Claim> in_order(std::vector<Claim> claims) {
  const auto place = [](const Claim& claim) {
    const int phase = claim.collective == CollectiveKind::AllReduce   ? 2
                      : claim.collective == CollectiveKind::Allgather ? 1
                                                                      : 0;
    return std::tuple(phase, !claim.any_chunks, claim.chunks);
  };
  std::ranges::stable_sort(claims, {}, place);
  return claims;
}

// Assembling may take a fifth of a search.
constexpr int kShare = 4;
constexpr milliseconds kOften{20};

}  // namespace

Findings::Findings(const Topology& topology, const Collective& asked, const FrontierOptions& options) {
  empty_.topology = topology;
  empty_.collective = asked;
  empty_.space = searched_space(options);
  empty_.limits = limits_of(options);
  us_ = options.us;
  sizes_ = options.sizes.empty() ? std::vector<double>(std::begin(kSizes), std::end(kSizes)) : options.sizes;
  stop_ = options.synthesis.limits.stop;
  timing_stop_ = options.timing_stop != nullptr ? options.timing_stop : stop_;
  latest_ = std::make_shared<const Assembled>();
}

double Findings::rate_of(const Cost& cost) {
  return static_cast<double>(cost.rounds) / cost.chunks;
}

bool Findings::is_small(const Point& point) {
  return total_sends(point.schedule) <= kMostSends;
}

bool Findings::is_late() const {
  return is_over(stop_);
}

Findings::Parts Findings::parts() const {
  const std::lock_guard lock(mutex_);
  return parts_;
}

void Findings::put(CollectiveKind kind, const SharedPoint& point, bool verified) {
  {
    const std::lock_guard lock(mutex_);
    if (kind == empty_.collective.kind) {
      // A construction with more work reports its points from the beginning.
      const bool again = std::ranges::any_of(
          parts_.beaten, [&](const SharedPoint& other) { return is_same(*other, *point); });
      if (again || parts_.direct.has(*point)) return;
      parts_.direct.put(point, us_ ? &parts_.beaten : nullptr);
      if (verified) parts_.verified.insert(point);
    } else
      keep_phase(kind, point);
    ++parts_.changes;
  }
  assemble_if_due();
}

void Findings::put(const Claim& claim) {
  {
    const std::lock_guard lock(mutex_);
    if (!excludes_more(parts_.claims, claim)) return;
    parts_.claims.push_back(claim);
    ++parts_.changes;
  }
  assemble_if_due();
}

void Findings::give_up(const std::set<Stopped>& why) {
  const std::lock_guard lock(mutex_);
  parts_.given_up.insert(why.begin(), why.end());
  ++parts_.changes;
}

int Findings::changes() const {
  const std::lock_guard lock(mutex_);
  return parts_.changes;
}

void Findings::assemble_if_due() const {
  const std::unique_lock lock(assembling_, std::try_to_lock);
  if (lock && assembled_ != changes() && steady_clock::now() >= next_) assemble(kMostTimedAsTheyCome);
}

void Findings::time(double most_sends) {
  const std::lock_guard lock(assembling_);
  assemble(most_sends);
}

// Of a phase a point may be cut as fine as the other phase is, so one is worse than another only if its chunk
// count is a multiple of the other's. With a k both phases share it, and which share is best is known
// together only.
void Findings::keep_phase(CollectiveKind kind, const SharedPoint& point) {
  std::vector<SharedPoint>& kept = parts_.phases[kind];
  const bool shares = empty_.space.extra_rounds != kAnyRounds;
  const auto as_good = [&](const Cost& a, const Cost& b) {
    if (shares) return a == b;
    return a.steps <= b.steps && compare_rate(a, b) <= 0 && b.chunks % a.chunks == 0;
  };
  if (std::ranges::any_of(kept, [&](const SharedPoint& other) { return as_good(other->cost, point->cost); }))
    return;
  std::vector<SharedPoint>& replaced = parts_.replaced[kind];
  std::erase_if(kept, [&](const SharedPoint& other) {
    const bool is_worse = as_good(point->cost, other->cost);
    if (is_worse && us_) replaced.push_back(other);
    return is_worse;
  });
  if (replaced.size() > kMostReplaced) replaced.erase(replaced.begin(), replaced.end() - kMostReplaced);
  kept.push_back(point);
}

ParetoSet Findings::frontier() const {
  const Parts parts = this->parts();
  const std::lock_guard lock(assembling_);
  return merged(parts, nullptr);
}

ParetoSet Findings::phase(CollectiveKind kind, int chunks) const {
  ParetoSet usable;
  if (empty_.space.extra_rounds != kAnyRounds) return usable;
  const std::lock_guard lock(mutex_);
  if (const auto at = parts_.phases.find(kind); at != parts_.phases.end())
    for (const SharedPoint& point : at->second)
      if (chunks % point->cost.chunks == 0) usable.put(point);
  return usable;
}

int Findings::most_extra(CollectiveKind kind, int chunks) const {
  int most = -1;
  const std::lock_guard lock(mutex_);
  if (const auto at = parts_.phases.find(kind); at != parts_.phases.end())
    for (const SharedPoint& point : at->second)
      if (point->cost.chunks == chunks) most = std::max(most, point->cost.rounds - point->cost.steps);
  return most;
}

Rate Findings::rate_bound(CollectiveKind kind) const {
  return rate_bound(kind, claims());
}

Rate Findings::rate_bound(CollectiveKind kind, std::vector<Claim> claims) {
  Result claimed{.claims = std::move(claims)};
  claimed.collective.kind = kind;
  return chorale::rate_bound(claimed);
}

std::vector<Claim> Findings::claims() const {
  return parts().claims;
}

bool Findings::is_empty() const {
  const std::lock_guard lock(mutex_);
  return latest_->points.empty();
}

bool Findings::complete() const {
  const std::lock_guard lock(assembling_);
  assemble(0);
  return latest_->marked.complete;
}

// Simulates the points that are small enough, up to a total number of sends, those of the fewest first. Once
// the search is stopped, all, those first whose rate is near the best of as few steps, which may have been
// the best before. Once timing is stopped, too, only those that take no time.
void Findings::time_all(const std::vector<SharedPoint>& points, const std::vector<SharedPoint>& beaten,
                        double most_sends) const {
  const bool is_late = this->is_late();
  ParetoSet best;
  for (const SharedPoint& point : points) best.put(point);
  const auto is_near = [&](const SharedPoint& point) {
    const Point* const other = best.best_within(point->cost.steps);
    return other == nullptr || rate_of(point->cost) <= kNear * rate_of(other->cost);
  };
  std::vector<std::tuple<bool, double, SharedPoint>> untimed;
  for (const std::vector<SharedPoint>* const all : {&points, &beaten})
    for (const SharedPoint& point : *all) {
      Known& known = known_[point.get()];
      known.point = point;
      if (known.us || !(is_late || is_small(*point))) continue;
      const auto sends = static_cast<double>(total_sends(point->schedule));
      untimed.emplace_back(is_late && !is_near(point), sends, point);
    }
  std::ranges::stable_sort(untimed, {},
                           [](const auto& each) { return std::pair(std::get<0>(each), std::get<1>(each)); });
  double sends = 0;
  for (const auto& [is_far, more, point] : untimed) {
    if (sends + more > most_sends || (is_over(timing_stop_) && sends + more > kMostTimedLate)) continue;
    sends += more;
    Times us(sizes_.size());
    for (std::size_t i = 0; i < us.size(); ++i) us[i] = us_(*point, sizes_[i]);
    if (std::ranges::none_of(us, [](double each) { return std::isinf(each); })) known_[point.get()].us = us;
  }
}

// Of `beaten` what is faster at a size than all points, and than the others, of those whose times are known.
std::vector<SharedPoint> Findings::fastest_beaten(const std::vector<SharedPoint>& points,
                                                  const std::vector<SharedPoint>& beaten) const {
  const auto times = [&](const SharedPoint& point) -> const std::optional<Times>& {
    return known_[point.get()].us;
  };
  std::set<std::size_t> chosen;
  for (std::size_t size = 0; size < sizes_.size(); ++size) {
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

void Findings::assemble(double most_timed) const {
  const auto begun = steady_clock::now();
  const Parts parts = this->parts();
  auto fresh = std::make_shared<Assembled>();
  Result& marked = fresh->marked;
  marked.space = empty_.space;
  marked.claims = in_order(parts.claims);
  if (!parts.given_up.empty()) fresh->given_up = *parts.given_up.begin();
  std::vector<SharedPoint> points = parts.direct.points();
  const auto publish = [&] {
    for (const SharedPoint& point : points) {
      Known& known = known_[point.get()];
      known.point = point;
      if (!std::exchange(known.sound, true) && !parts.verified.contains(point))
        require_sound(empty_.topology, with_chunks(empty_.collective, point->cost.chunks), *point);
    }
    // The fields that mark() reads.
    marked.kind = empty_.kind;
    marked.topology.ranks = empty_.topology.ranks;
    marked.collective.kind = empty_.collective.kind;
    marked.collective.order = empty_.collective.order;
    marked.points.clear();
    for (const SharedPoint& point : points)
      marked.points.push_back({.cost = point->cost, .method = point->method, .seconds = point->seconds});
    fresh->points.clear();
    for (const std::size_t i : mark(marked)) fresh->points.push_back(points[i]);
    auto shown = std::make_shared<const Assembled>(*fresh);
    const std::lock_guard lock(mutex_);
    latest_.swap(shown);
  };
  // Making compositions may take longer than there is time.
  if (is_empty() && !points.empty()) publish();
  std::vector<SharedPoint> beaten = parts.beaten;
  const ParetoSet frontier = merged(parts, us_ ? &beaten : nullptr);
  points = frontier.points();
  publish();
  if (us_) {
    time_all(points, beaten, most_timed);
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
  result.complete_chunks = latest->marked.complete_chunks;
  if (stopped == Stopped::No && latest->given_up) stopped = *latest->given_up;
  // Every question that a formula can express was solved, and yet something is open.
  if (stopped == Stopped::No)
    stopped = result.space.max_chunks == kAnyChunks ? Stopped::ChunkCounts : Stopped::NotExpressible;
  result.stopped = result.complete ? Stopped::No : stopped;
  result.seconds = seconds;
  return result;
}

Result Findings::result(Stopped stopped, double seconds) const {
  {
    const std::lock_guard lock(assembling_);
    assemble(std::numeric_limits<double>::infinity());
  }
  return filled(stopped, seconds);
}

Result Findings::so_far(Stopped stopped, double seconds) const {
  if (const std::unique_lock lock(assembling_, std::try_to_lock); lock) {
    if (assembled_ != changes()) assemble(0);
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
  const Rate rate = rate_bound(result);
  return rate.rounds > 0 && std::ranges::any_of(result.points, [&](const Point& point) {
           return !less(rate, {.rounds = point.cost.rounds, .chunks = point.cost.chunks});
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
  if (result.kind == ResultKind::Algorithm && !meets_rate(result)) {
    result.complete = false;
    result.complete_chunks = 0;
  }
  if (result.complete) result.stopped = Stopped::No;
}

}  // namespace chorale
