#include "pareto/space_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chorale {
namespace {

// A claim about more steps, other than one that holds for any number of them, is not looked at.
constexpr int kMostSteps = 5000;
constexpr long long kImpossible = kNoSchedule;

class SpaceCheck {
 public:
  explicit SpaceCheck(const Result& result) : result_(result) {}

  std::vector<std::string> run() {
    if (!find_last_step()) return std::move(faults_);
    for (std::size_t i = 0; i < result_.points.size(); ++i) check_point(i);
    check_openings();
    check_ending();
    return std::move(faults_);
  }

 private:
  void fail(const std::string& where, const std::string& what) { faults_.push_back(where + ": " + what); }
  static std::string point(std::size_t i) { return fmt::format("points[{}]", i); }

  // The frontier of an AllReduce has three families, everything else one.
  bool allreduce() const {
    return result_.kind == ResultKind::Frontier && result_.collective.name == "allreduce" &&
           !result_.collective.custom;
  }

  // "at least `rounds`" of a claim, for schedules of so many steps: within the claim's steps, as it says; with
  // more, either no more are used, or every step has a round.
  static long long says(const Claim& claim, int steps) {
    if (claim.steps >= steps) return claim.rounds;
    return std::min(claim.rounds, claim.steps + 1);
  }

  // From this number of steps on nothing changes any more.
  bool find_last_step() {
    long long last = 0, rounds = 0;
    for (std::size_t i = 0; i < result_.claims.size(); ++i) {
      const Claim& claim = result_.claims[i];
      if (claim.rounds != kNoSchedule) rounds = std::max<long long>(rounds, claim.rounds);
      if (claim.steps == kAnySteps || (claim.rounds != kNoSchedule && claim.rounds <= claim.steps)) continue;
      if (claim.steps > kMostSteps) {
        fail(fmt::format("claims[{}]", i), "is about more steps than are looked at");
        return false;
      }
      last = std::max<long long>(last, claim.steps + 1);
    }
    last *= 2;  // two parts, one after the other
    for (const Point& p : result_.points) last = std::max<long long>(last, p.cost.steps);
    // Where rounds may exceed steps by so many only, more steps let more rounds in.
    if (result_.space.extra_rounds != kAnyRounds) last = std::max(last, 2 * rounds);
    if (result_.space.max_steps != kAnySteps) last = std::min<long long>(last, result_.space.max_steps);
    if (last > 4 * kMostSteps) {
      fail("claims", "leave open more steps than are looked at");
      return false;
    }
    last_step_ = static_cast<int>(last);
    return true;
  }

  // By number of steps: the fewest rounds possible of that collective with that many chunks; kImpossible where
  // there is no schedule in the space.
  std::vector<long long> possible(const std::string& name, int chunks) const {
    std::vector<long long> rounds;
    for (int steps = 0; steps <= last_step_; ++steps) {
      long long least = 0;
      for (const Claim& claim : result_.claims)
        if (claim.collective == name && claim.chunks == chunks) least = std::max(least, says(claim, steps));
      rounds.push_back(within_space(least, steps));
    }
    return rounds;
  }

  long long within_space(long long rounds, int steps) const {
    const Space& space = result_.space;
    const bool k = space.extra_rounds != kAnyRounds;
    const bool too_many = rounds > space.max_rounds || (k && rounds > steps + 0LL + space.extra_rounds);
    return too_many ? kImpossible : rounds;
  }

  std::vector<long long> composed(int chunks) const {
    const std::vector<long long> first = possible("reducescatter", chunks);
    const std::vector<long long> second = possible("allgather", chunks);
    std::vector<long long> both(last_step_ + 1, kImpossible);
    for (int a = 0; a <= last_step_; ++a)
      for (int b = 0; a + b <= last_step_; ++b)
        if (first[a] != kImpossible && second[b] != kImpossible)
          both[a + b] = std::min(both[a + b], first[a] + second[b]);
    for (int steps = 0; steps <= last_step_; ++steps)
      if (both[steps] != kImpossible) both[steps] = within_space(both[steps], steps);
    return both;
  }

  static Rate rate(long long rounds, long long chunks) {
    if (rounds == kImpossible) return {.rounds = kNoSchedule, .chunks = 1};
    const long long common = std::gcd(rounds, chunks);
    return {.rounds = rounds / common, .chunks = chunks / common};
  }

  // By number of steps: the lowest rate possible in the families and chunk counts that are asked for.
  using Rates = std::vector<Rate>;
  static void lower(Rates& rates, const std::vector<long long>& rounds, long long chunks) {
    for (std::size_t s = 0; s < rates.size(); ++s)
      if (const Rate r = rate(rounds[s], chunks); less(r, rates[s])) rates[s] = r;
  }
  Rates nothing() const { return Rates(last_step_ + 1, {.rounds = kNoSchedule, .chunks = 1}); }

  // The three families of an AllReduce; "direct" is the only one of others.
  void lower_by(Rates& rates, const std::string& family, int chunks) const {
    if (family == "reduce_scatter+allgather")
      return lower(rates, composed(chunks), static_cast<long long>(chunks) * result_.topology.ranks);
    if (family == "gather+local_reduce") return lower(rates, possible("allgather", chunks), chunks);
    lower(rates, possible(result_.collective.name, chunks), chunks);
  }

  const Rates& everywhere() {
    if (!everywhere_.empty()) return everywhere_;
    everywhere_ = nothing();
    for (int c = result_.space.min_chunks; c <= result_.space.max_chunks; ++c) {
      // Nobody has claimed anything: anything is possible.
      lower_by(everywhere_, "direct", c);
      if (!allreduce()) continue;
      lower_by(everywhere_, "reduce_scatter+allgather", c);
      lower_by(everywhere_, "gather+local_reduce", c);
    }
    return everywhere_;
  }

  std::string family(const Point& p) const {
    const bool own = p.method == "reduce_scatter+allgather" || p.method == "gather+local_reduce";
    return allreduce() && own ? p.method : "direct";
  }

  void check_point(std::size_t i) {
    const Point& p = result_.points[i];
    const Space& space = result_.space;
    const int parts = family(p) == "reduce_scatter+allgather" ? result_.topology.ranks : 1;
    const int chunks = p.cost.chunks / parts;
    if (p.cost.chunks % parts != 0 || chunks < space.min_chunks || chunks > space.max_chunks)
      return fail(point(i),
                  fmt::format("has {} chunks, which is outside of the searched space", p.cost.chunks));
    if (p.cost.steps > space.max_steps)
      return fail(point(i),
                  fmt::format("has {} steps, the searched space at most {}", p.cost.steps, space.max_steps));
    if (within_space(p.cost.rounds, p.cost.steps) == kImpossible)
      return fail(point(i), fmt::format("has {} rounds, more than the searched space allows to {} steps",
                                        p.cost.rounds, p.cost.steps));
    if (p.on_frontier != undominated(i))
      return fail(point(i),
                  p.on_frontier ? "is dominated by another point" : "is on the frontier, but not marked so");
    Rates own = nothing();
    if (!p.on_frontier) lower_by(own, family(p), chunks);
    const Rates& rates = p.on_frontier ? everywhere() : own;
    const Rate bound = rates[p.cost.steps], is = rate(p.cost.rounds, p.cost.chunks);
    if (less(is, bound)) return fail(point(i), "is better than the claims leave possible");
    if (p.bound != bound)
      return fail(point(i), fmt::format("states a bound of {}/{} rounds a chunk, the claims show {}/{}",
                                        p.bound.rounds, p.bound.chunks, bound.rounds, bound.chunks));
    const bool proven = is == bound && (p.cost.steps == 0 || less(is, rates[p.cost.steps - 1]));
    if (p.proven && !proven) return fail(point(i), "is called proven, but the claims do not show it");
    if (!p.proven && proven) return fail(point(i), "is not called proven, but the claims show it");
  }

  // Of equal points the first is on the frontier.
  bool undominated(std::size_t i) const {
    const Cost& own = result_.points[i].cost;
    for (std::size_t j = 0; j < result_.points.size(); ++j) {
      const Cost& other = result_.points[j].cost;
      const bool no_worse = other.steps <= own.steps && compare_rate(other, own) <= 0;
      const bool equal = other.steps == own.steps && compare_rate(other, own) == 0;
      if (no_worse && (!equal || j < i)) return false;
    }
    return true;
  }

  // At each number of steps, what was found against what is possible.
  void check_openings() {
    std::vector<Opening> follow;
    std::optional<Rate> found_before;
    Rate possible_before;
    for (int steps = 0; steps <= last_step_; ++steps) {
      std::optional<Rate> found;
      for (const Point& p : result_.points)
        if (const Rate r = rate(p.cost.rounds, p.cost.chunks);
            p.cost.steps <= steps && (!found || less(r, *found)))
          found = r;
      const Rate possible = everywhere()[steps];
      const bool open = possible.rounds != kNoSchedule && (!found || less(possible, *found));
      if (open && (steps == 0 || found != found_before || possible != possible_before))
        follow.push_back({.steps = steps, .found = found, .bound = possible});
      found_before = found;
      possible_before = possible;
    }
    if (result_.complete && !follow.empty())
      return fail("complete", fmt::format("the claims leave a better schedule of {} steps possible",
                                          follow.front().steps));
    if (!result_.complete && follow.empty())
      return fail("complete", "is false, but the claims leave nothing open");
    if (result_.openings != follow) fail("openings", "are not those that points and claims leave");
  }

  void check_ending() {
    const Stopped stopped = result_.stopped;
    if (result_.complete && stopped != Stopped::No)
      fail("stopped", "the result is complete, so nothing stopped it");
    if (!result_.complete && stopped == Stopped::No && result_.kind == ResultKind::Frontier)
      fail("stopped", "the result is not complete, and nothing is said to have stopped it");
    if (stopped == Stopped::TimeLimit && !result_.limits.time_ms) fail("stopped", "there was no time limit");
    if (stopped == Stopped::ConflictLimit && !result_.limits.conflicts)
      fail("stopped", "there was no conflict limit");
    if (result_.kind == ResultKind::Algorithm && (result_.points.size() != 1 || stopped != Stopped::No))
      fail("kind", "a hand-written algorithm is one point, and no search that could be stopped");
  }

  const Result& result_;
  int last_step_ = 0;
  Rates everywhere_ = {};
  std::vector<std::string> faults_ = {};
};

}  // namespace

std::vector<std::string> space_faults(const Result& result) {
  return SpaceCheck(result).run();
}

}  // namespace chorale
