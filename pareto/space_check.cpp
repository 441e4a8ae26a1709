// The idea: at each number of steps, one after the other up to the last at which anything can change, the
// lowest rate that the claims leave possible and the lowest that was found; all that a result states of
// itself follows from these two rows.
//
// Invariant: possible() falls as steps rise, in every family, and what the space does not allow is
// kImpossible.
//
// Where the space has no maximum chunk count, the row is of any_possible(): rates, by claims about any chunk
// count alone. A claim about C chunks never implies anything about C + 1, however many such claims there are.
//
// What lost: the staircases of optimality.cpp, which are faster, take any number of steps, and are easier to
// get wrong. They are what is checked. A table costs its steps, so claims about more steps than kMostSteps
// are refused; the search makes none.
#include "pareto/space_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ir/words.h"

namespace chorale {
namespace {

// A claim about more steps, other than one that holds for any number of them, is refused.
constexpr int kMostSteps = 5000;
constexpr long long kImpossible = kNoSchedule;
constexpr std::size_t kMostKept = 256;  // rates by step: 80 MB at most

// By number of steps: the lowest rate possible.
using Rates = std::vector<Rate>;

class SpaceCheck {
 public:
  explicit SpaceCheck(const Result& result) : result_(result) {}

  std::vector<Fault> run() {
    for (const Claim& claim : result_.claims) {
      if (claim.any_chunks)
        any_claims_[claim.collective].push_back(&claim);
      else
        claims_[{claim.collective, claim.chunks}].push_back(&claim);
    }
    find_undominated();
    if (!find_last_step()) return std::move(faults_);
    for (std::size_t i = 0; i < result_.points.size(); ++i) check_point(i);
    check_openings();
    check_ending();
    return std::move(faults_);
  }

 private:
  void fail(const std::string& where, const std::string& what) {
    faults_.push_back({.kind = Fault::Kind::Statement, .words = where + ": " + what});
  }
  void fail_point(std::size_t i, const std::string& what) {
    fail(fmt::format("points[{}]", i), what);
    faults_.back().place.point = static_cast<int>(i);
  }

  // The frontier of an AllReduce has three families, everything else one.
  bool allreduce() const {
    return result_.kind == ResultKind::Frontier && result_.collective.kind == CollectiveKind::AllReduce;
  }

  // From this number of steps on nothing changes any more: one step after those that it names, a claim has
  // its full effect. A claim of no more rounds than steps has it from the first on: with more steps there are
  // more rounds anyway.
  bool find_last_step() {
    long long last = 0, rounds = 0;
    for (std::size_t i = 0; i < result_.claims.size(); ++i) {
      const Claim& claim = result_.claims[i];
      if (claim.rounds != kNoSchedule) rounds = std::max(rounds, rounds_of(claim, last_count()));
      if (claim.steps == kAnySteps) continue;
      // A claim about any chunk count implies nothing for more steps, and this for these.
      if (!claim.any_chunks && claim.rounds != kNoSchedule && claim.rounds <= claim.steps) continue;
      if (claim.steps > kMostSteps) {
        fail(fmt::format("claims[{}]", i), "is about more steps than are examined");
        return false;
      }
      last = std::max<long long>(last, claim.steps + 1);
    }
    last *= 2;  // two parts, one after the other
    for (const Point& p : result_.points) last = std::max<long long>(last, p.cost.steps);
    // Where rounds may exceed steps by extra_rounds only, more steps allow more rounds.
    if (result_.space.extra_rounds != kAnyRounds) last = std::max(last, 2 * rounds);
    if (result_.space.max_steps != kAnySteps) last = std::min<long long>(last, result_.space.max_steps);
    if (last > 4 * kMostSteps) {
      fail("claims", "leave open more steps than are examined");
      return false;
    }
    last_step_ = static_cast<int>(last);
    return true;
  }

  // The last chunk count that is examined by itself.
  long long last_count() const {
    const Space& space = result_.space;
    return std::min<long long>(space.max_chunks, std::max(space.min_chunks + kMostComplete, most_counted()));
  }
  int most_counted() const { return result_.space.max_chunks == kAnyChunks ? 0 : result_.space.max_chunks; }

  // The fewest rounds with `chunks` chunks by the claim, if any number of rounds suffices.
  static long long rounds_of(const Claim& claim, long long chunks) {
    if (!claim.any_chunks || claim.rounds == kNoSchedule) return claim.rounds;
    long long rounds = claim.rounds * chunks / claim.chunks;
    if (rounds * claim.chunks < claim.rounds * chunks) ++rounds;
    return rounds;
  }

  // [steps] -> the fewest rounds possible of that collective with that many chunks; kImpossible if there is
  // no schedule in the space. A claim implies "at least `rounds`" for schedules within its steps; for those
  // with more, that either no more are used, or every step has a round.
  std::vector<long long> possible(CollectiveKind kind, int chunks) const {
    std::vector<long long> up_to(last_step_ + 1, 0), from(last_step_ + 1, 0);
    const auto regard = [&](const std::vector<const Claim*>& claims) {
      for (const Claim* claim : claims) {
        const long long least = rounds_of(*claim, chunks);
        long long& within = up_to[std::min(claim->steps, last_step_)];
        within = std::max(within, least);
        if (claim->steps >= last_step_) continue;
        long long& beyond = from[claim->steps + 1];
        beyond = std::max(beyond, std::min<long long>(least, claim->steps + 1));
      }
    };
    if (const auto at = claims_.find({kind, chunks}); at != claims_.end()) regard(at->second);
    if (const auto at = any_claims_.find(kind); at != any_claims_.end()) regard(at->second);
    for (int steps = 1; steps <= last_step_; ++steps) from[steps] = std::max(from[steps], from[steps - 1]);
    for (int steps = last_step_; steps-- > 0;) up_to[steps] = std::max(up_to[steps], up_to[steps + 1]);
    std::vector<long long> rounds;
    for (int steps = 0; steps <= last_step_; ++steps)
      rounds.push_back(within_space(std::max(up_to[steps], from[steps]), steps));
    return rounds;
  }

  // [steps] -> the lowest rate possible of any chunk count, by the claims about all of them, without
  // refutations if `messages`: these are about schedules with one value per rank. With more steps than a
  // claim names it implies nothing. Where the fewest chunks have too many rounds for the space, all have.
  Rates any_possible(const std::vector<CollectiveKind>& kinds, bool messages) const {
    Rates rates(last_step_ + 1);
    for (int steps = 0; steps <= last_step_; ++steps) {
      long long fewest = 0;
      for (const CollectiveKind kind : kinds) {
        const auto at = any_claims_.find(kind);
        if (at == any_claims_.end()) continue;
        for (const Claim* claim : at->second) {
          const bool refuted = claim->certificate.kind == Certificate::Kind::Refutation;
          if (claim->steps < steps || (messages && kind == result_.collective.kind && refuted)) continue;
          const Rate least = rate(claim->rounds, claim->chunks);
          if (less(rates[steps], least)) rates[steps] = least;
          fewest = std::max(fewest, rounds_of(*claim, result_.space.min_chunks));
        }
      }
      if (within_space(fewest, steps) == kImpossible) rates[steps] = {.rounds = kNoSchedule, .chunks = 1};
    }
    // With more steps than needed some are wasted.
    for (int steps = 1; steps <= last_step_; ++steps)
      if (less(rates[steps - 1], rates[steps])) rates[steps] = rates[steps - 1];
    return rates;
  }

  // The numbers of steps with which fewer rounds become possible.
  static std::vector<int> falls(const std::vector<long long>& rounds) {
    std::vector<int> at;
    for (int steps = 0; steps < static_cast<int>(rounds.size()); ++steps)
      if (rounds[steps] < (steps == 0 ? kImpossible : rounds[steps - 1])) at.push_back(steps);
    return at;
  }

  long long within_space(long long rounds, int steps) const {
    const Space& space = result_.space;
    const bool k = space.extra_rounds != kAnyRounds;
    const bool too_many = rounds > space.max_rounds || (k && rounds > steps + 0LL + space.extra_rounds);
    return too_many ? kImpossible : rounds;
  }

  // One part after the other, by all pairs of steps at which either gets better; what lies between only
  // waits.
  std::vector<long long> composed(CollectiveKind of, int chunks) const {
    const std::vector<long long> first = possible(of, chunks);
    const std::vector<long long> second = possible(CollectiveKind::Allgather, chunks);
    std::vector<long long> both(last_step_ + 1, kImpossible);
    for (int a : falls(first))
      for (int b : falls(second))
        if (a + b <= last_step_) both[a + b] = std::min(both[a + b], first[a] + second[b]);
    for (int steps = 1; steps <= last_step_; ++steps) both[steps] = std::min(both[steps], both[steps - 1]);
    for (int steps = 0; steps <= last_step_; ++steps)
      if (both[steps] != kImpossible) both[steps] = within_space(both[steps], steps);
    return both;
  }

  static Rate rate(long long rounds, long long chunks) {
    if (rounds == kImpossible) return {.rounds = kNoSchedule, .chunks = 1};
    const long long common = std::gcd(rounds, chunks);
    return {.rounds = rounds / common, .chunks = chunks / common};
  }

  static void lower(Rates& rates, const Rates& others) {
    for (std::size_t s = 0; s < rates.size(); ++s)
      if (less(others[s], rates[s])) rates[s] = others[s];
  }
  static void lower(Rates& rates, const std::vector<long long>& rounds, long long chunks) {
    for (std::size_t s = 0; s < rates.size(); ++s)
      if (const Rate r = rate(rounds[s], chunks); less(r, rates[s])) rates[s] = r;
  }
  Rates nothing() const { return Rates(last_step_ + 1, {.rounds = kNoSchedule, .chunks = 1}); }

  // The three families of an AllReduce; Direct is the only one of others.
  void lower_by(Rates& rates, Method family, int chunks) const {
    if (family == Method::Composed) {
      for (const CollectiveKind first : first_phases(result_.collective))
        lower(rates, composed(first, chunks), static_cast<long long>(chunks) * result_.topology.ranks);
      return;
    }
    if (family == Method::Gathered) return lower(rates, possible(CollectiveKind::Allgather, chunks), chunks);
    lower(rates, possible(result_.collective.kind, chunks), chunks);
  }

  void lower_by_all(Rates& rates, int chunks) const {
    // Without claims, anything is possible.
    lower_by(rates, Method::Direct, chunks);
    if (!allreduce()) return;
    lower_by(rates, Method::Composed, chunks);
    lower_by(rates, Method::Gathered, chunks);
  }

  // Against this the frontier is held, made when it is first asked for: all families, all chunk counts.
  // Compositions are direct schedules of other chunk counts, where these have no limit; those of copies, in a
  // fixed order, are not.
  const Rates& everywhere() {
    if (!everywhere_.empty()) return everywhere_;
    everywhere_ = nothing();
    if (result_.space.max_chunks == kAnyChunks) {
      const CollectiveKind kind = result_.collective.kind;
      lower(everywhere_, any_possible({kind}, false));
      if (allreduce()) lower(everywhere_, any_possible({kind, CollectiveKind::Allgather}, true));
      if (allreduce() && result_.collective.order.kind == SumOrder::Kind::Fixed)
        lower(everywhere_, any_possible({kind}, true));
      return everywhere_;
    }
    for (int c = result_.space.min_chunks; c <= result_.space.max_chunks; ++c) lower_by_all(everywhere_, c);
    return everywhere_;
  }

  // One family with one number of chunks; kept, since many points may share them.
  const Rates& alone(Method family, int chunks) {
    if (alone_.size() > kMostKept) alone_.clear();
    const auto [at, fresh] = alone_.try_emplace({family, chunks});
    if (fresh) {
      at->second = nothing();
      lower_by(at->second, family, chunks);
    }
    return at->second;
  }

  Method family(const Point& p) const {
    const bool own = p.method == Method::Composed || p.method == Method::Gathered;
    return allreduce() && own ? p.method : Method::Direct;
  }

  void check_point(std::size_t i) {
    const Point& p = result_.points[i];
    const Space& space = result_.space;
    const int parts = family(p) == Method::Composed ? result_.topology.ranks : 1;
    const int chunks = p.cost.chunks / parts;
    if (p.cost.chunks % parts != 0 || chunks < space.min_chunks || chunks > space.max_chunks)
      return fail_point(
          i, "has " + counted(p.cost.chunks, "chunk") + ", which is outside of the searched space");
    if (p.cost.steps > space.max_steps)
      return fail_point(i, fmt::format("has {}, the searched space at most {}", counted(p.cost.steps, "step"),
                                       space.max_steps));
    if (within_space(p.cost.rounds, p.cost.steps) == kImpossible)
      return fail_point(i, fmt::format("has {}, more than the searched space allows to {}",
                                       counted(p.cost.rounds, "round"), counted(p.cost.steps, "step")));
    if (p.on_frontier != undominated_[i])
      return fail_point(
          i, p.on_frontier ? "is dominated by another point" : "is on the frontier, but not marked so");
    const Rates& rates = p.on_frontier ? everywhere() : alone(family(p), chunks);
    const Rate bound = rates[p.cost.steps], is = rate(p.cost.rounds, p.cost.chunks);
    if (less(is, bound)) return fail_point(i, "is better than the claims leave possible");
    if (p.bound != bound)
      return fail_point(i, fmt::format("states a bound of {}/{} rounds per chunk, the claims show {}/{}",
                                       p.bound.rounds, p.bound.chunks, bound.rounds, bound.chunks));
    const bool proven = is == bound && (p.cost.steps == 0 || less(is, rates[p.cost.steps - 1]));
    if (p.proven && !proven) return fail_point(i, "is called proven, but the claims do not show it");
    if (!p.proven && proven) return fail_point(i, "is not called proven, but the claims show it");
  }

  // A point is undominated if all with fewer steps, or as many and a lower rate, have a higher one; of equal
  // points the first.
  void find_undominated() {
    const std::vector<Point>& points = result_.points;
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&points](std::size_t i, std::size_t j) {
      const Cost &a = points[i].cost, &b = points[j].cost;
      return a.steps != b.steps ? a.steps < b.steps : compare_rate(a, b) < 0;
    });
    undominated_.assign(points.size(), false);
    const Cost* lowest = nullptr;
    for (std::size_t i : order)
      if (lowest == nullptr || compare_rate(points[i].cost, *lowest) < 0) {
        undominated_[i] = true;
        lowest = &points[i].cost;
      }
  }

  // At each number of steps, what was found against what is possible.
  std::vector<Opening> openings_in(const Rates& rates) const {
    std::vector<Opening> follow;
    std::optional<Rate> found, found_before;
    Rate possible_before;
    std::vector<const Point*> points;  // by steps
    for (const Point& p : result_.points) points.push_back(&p);
    std::sort(points.begin(), points.end(),
              [](const Point* a, const Point* b) { return a->cost.steps < b->cost.steps; });
    auto next = points.begin();
    for (int steps = 0; steps <= last_step_; ++steps) {
      for (; next != points.end() && (*next)->cost.steps <= steps; ++next)
        if (const Rate r = rate((*next)->cost.rounds, (*next)->cost.chunks); !found || less(r, *found))
          found = r;
      const Rate possible = rates[steps];
      const bool open = possible.rounds != kNoSchedule && (!found || less(possible, *found));
      if (open && (steps == 0 || found != found_before || possible != possible_before))
        follow.push_back({.steps = steps, .found = found, .bound = possible});
      found_before = found;
      possible_before = possible;
    }
    return follow;
  }

  void check_openings() {
    const std::vector<Opening> follow = openings_in(everywhere());
    if (result_.complete && !follow.empty())
      return fail("complete", fmt::format("the claims leave a better schedule of {} steps possible",
                                          follow.front().steps));
    if (!result_.complete && follow.empty() && result_.kind != ResultKind::Algorithm)
      return fail("complete", "is false, but the claims leave nothing open");
    if (result_.openings != follow) fail("openings", "are not those that points and claims leave");
    check_complete_chunks(follow.empty());
  }

  // Chunk count by chunk count, all below the first that leaves something open.
  void check_complete_chunks(bool complete) {
    if (result_.complete_chunks == kNotStated) return;
    const Space& space = result_.space;
    int closed = complete ? space.max_chunks : 0;
    for (int c = space.min_chunks; !complete && c <= space.max_chunks && c - space.min_chunks < kMostComplete;
         ++c) {
      Rates rates = nothing();
      lower_by_all(rates, c);
      if (!openings_in(rates).empty()) break;
      closed = c;
    }
    if (result_.kind == ResultKind::Algorithm && !result_.complete) closed = 0;
    if (result_.complete_chunks != closed)
      fail("complete_chunks", fmt::format("is {}, the claims show {}", result_.complete_chunks, closed));
  }

  void check_ending() {
    const Stopped stopped = result_.stopped;
    if (result_.complete && stopped != Stopped::No)
      fail("stopped", "the result is complete, so nothing stopped it");
    if (!result_.complete && stopped == Stopped::No && result_.kind == ResultKind::Frontier)
      fail("stopped", "the result is not complete, and 'stopped' has no reason");
    if (stopped == Stopped::TimeLimit && !result_.limits.time_ms) fail("stopped", "there was no time limit");
    if (stopped == Stopped::ConflictLimit && !result_.limits.conflicts)
      fail("stopped", "there was no conflict limit");
    const bool composed =
        !result_.points.empty() && std::ranges::all_of(result_.points, [](const Point& point) {
          return point.method == Method::Levels;
        });
    if (result_.kind == ResultKind::Algorithm &&
        ((result_.points.size() != 1 && !composed) || stopped != Stopped::No))
      fail("kind", "a baseline is one point, and not a search that could be stopped");
  }

  const Result& result_;
  int last_step_ = 0;
  std::map<std::pair<CollectiveKind, int>, std::vector<const Claim*>> claims_ =
      {};  // by collective and chunks
  std::map<CollectiveKind, std::vector<const Claim*>> any_claims_ = {};
  std::vector<bool> undominated_ = {};  // by point
  Rates everywhere_ = {};
  std::map<std::pair<Method, int>, Rates> alone_ = {};
  std::vector<Fault> faults_ = {};
};

}  // namespace

std::vector<Fault> space_faults(const Result& result) {
  return SpaceCheck(result).run();
}

}  // namespace chorale
