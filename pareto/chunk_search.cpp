#include "pareto/chunk_search.h"

#include <algorithm>

#include "bounds/lower_bounds.h"
#include "pareto/instance_solver.h"
#include "pareto/optimality.h"

namespace chorale {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Asking for any number of steps makes a formula with as many steps as rounds; beyond this it costs more than
// it saves.
constexpr int kMostStepsAsked = 24;

class ChunkSearch {
 public:
  ChunkSearch(const Topology& topology, const Collective& collective, const FrontierOptions& options,
              SearchClock& clock, const MostRounds& most_rounds)
      : topology_(topology),
        collective_(collective),
        options_(options),
        clock_(clock),
        most_rounds_(most_rounds) {
    known_.topology = topology;  // rounds_left reads the claims
  }

  ChunkFrontier run() {
    const StepBound step_bound = fewest_steps(topology_, collective_);
    if (step_bound.steps == 0) {
      add_point({.method = "direct", .collective = collective_}, 0);
      return std::move(result_);
    }
    add_claim(step_bound.claim);
    if (options_.synthesis.use_bounds) add_claim(fewest_rounds(topology_, collective_));
    for (int steps = step_bound.steps; !over_; ++steps) {
      if (options_.max_steps >= 0 && steps > options_.max_steps) break;
      const std::optional<int> most = most_of_interest(steps);
      if (most && (*most < left(kAnySteps) || steps > *most)) break;
      search_steps(steps, most);
    }
    return std::move(result_);
  }

 private:
  // Better than what was found with fewer steps, and within the space asked for.
  std::optional<int> most_of_interest(int steps) const {
    std::optional<int> most;
    const auto at_most = [&most](int rounds) { most = most ? std::min(*most, rounds) : rounds; };
    if (!result_.points.empty()) at_most(result_.points.back().cost.rounds - 1);
    if (most_rounds_)
      if (const std::optional<int> interest = most_rounds_(steps)) at_most(*interest);
    if (options_.extra_rounds >= 0) at_most(steps + options_.extra_rounds);
    return most;
  }

  int left(int steps) const {
    return rounds_left(known_, collective_.name, collective_.chunks_per_block, steps);
  }

  // The fewest rounds for this many steps, if of interest.
  void search_steps(int steps, std::optional<int> most) {
    if (options_.synthesis.use_bounds && (!most || left(steps) <= *most))
      add_claim(fewest_rounds_in(topology_, collective_, steps));
    int low = std::max(1, left(steps));  // not excluded
    if (most && low > *most) return;
    if (ask(steps, low)) return;
    low = std::max(low + 1, left(steps));
    if (most && low <= *most && !ask(steps, *most)) return;  // the usual case: one more step does not help
    if (most) return bisect(steps, low);
    raise_bound_for_any_steps();
    for (low = std::max(low, left(steps)); !over_ && !ask(steps, low); ++low) continue;
  }

  // A point was found for these steps, `low` rounds or more; find the best.
  void bisect(int steps, int low) {
    while (!over_ && low < result_.points.back().cost.rounds) {
      const int middle = low + (result_.points.back().cost.rounds - low) / 2;
      if (middle == result_.points.back().cost.rounds || !ask(steps, middle)) low = middle + 1;
    }
  }

  // If the fewest rounds of any number of steps are not possible, one refutation says so for every number of
  // steps.
  void raise_bound_for_any_steps() {
    while (!over_) {
      const int rounds = left(kAnySteps);
      if (rounds < 1 || rounds > kMostStepsAsked || asked_any_ == rounds) return;
      asked_any_ = rounds;
      const int before = static_cast<int>(result_.claims.size());
      ask(rounds, rounds, false);
      if (static_cast<int>(result_.claims.size()) == before) return;
    }
  }

  // Sat: true, the point replaces one of equal steps. Unsat: false, claimed. Unknown: false, noted.
  bool ask(int steps, int rounds, bool keep = true) {
    const std::optional<SolveLimits> limits = clock_.next_limits();
    if (!limits) {
      over_ = result_.undecided = true;
      return false;
    }
    clock_.report(collective_.name + ", " + std::to_string(collective_.chunks_per_block) +
                  " chunks: " + std::to_string(steps) + " steps, " + std::to_string(rounds) + " rounds");
    if (!solver_ || limits->time.count() >= 0) {
      SynthesisOptions synthesis = options_.synthesis;
      synthesis.limits = *limits;
      if (!solver_)
        solver_.emplace(topology_, collective_, synthesis);
      else
        solver_->set_limits(*limits);
    }
    const steady_clock::time_point before = steady_clock::now();
    Answer answer = solver_->ask({.steps = steps, .rounds = rounds});
    const double seconds = duration_cast<milliseconds>(steady_clock::now() - before).count() / 1000.0;
    if (answer.verdict == Verdict::Unknown && keep) result_.undecided = true;
    if (answer.claim) {
      answer.claim->seconds = seconds;
      add_claim(*answer.claim);
    }
    if (answer.point && keep) add_point(std::move(*answer.point), seconds);
    return answer.verdict == Verdict::Sat;
  }

  void add_point(Point point, double seconds) {
    point.seconds = seconds;
    if (!result_.points.empty() && result_.points.back().cost.steps >= point.cost.steps) {
      point.seconds += result_.points.back().seconds;
      result_.points.pop_back();
    } else {
      clock_.found_point();
    }
    result_.points.push_back(std::move(point));
  }

  void add_claim(const Claim& claim) {
    // Only what says more than the claims before.
    if (claim.rounds != kNoSchedule && claim.rounds <= left(claim.steps)) return;
    known_.claims.push_back(claim);
    result_.claims.push_back(claim);
  }

  const Topology& topology_;
  const Collective& collective_;
  const FrontierOptions& options_;
  SearchClock& clock_;
  const MostRounds& most_rounds_;
  std::optional<InstanceSolver> solver_ = {};
  Result known_ = {};
  ChunkFrontier result_ = {};
  int asked_any_ = 0;
  bool over_ = false;
};

}  // namespace

SearchClock::SearchClock(const FrontierOptions& options) : options_(options) {}

std::optional<SolveLimits> SearchClock::next_limits() const {
  if (!why_stopped().empty()) return std::nullopt;
  SolveLimits limits = options_.synthesis.limits;
  if (options_.time_limit.count() >= 0) {
    const auto remaining = options_.time_limit - duration_cast<milliseconds>(steady_clock::now() - started_);
    if (limits.time.count() < 0 || remaining < limits.time)
      limits.time = std::max(remaining, milliseconds(1));
  }
  return limits;
}

void SearchClock::report(const std::string& doing) {
  if (options_.progress) options_.progress({.doing = doing, .points = points_, .seconds = seconds()});
}

double SearchClock::seconds() const {
  return duration_cast<milliseconds>(steady_clock::now() - started_).count() / 1000.0;
}

std::string SearchClock::why_stopped() const {
  const std::atomic<bool>* stop = options_.synthesis.limits.stop;
  if (stop != nullptr && *stop) return "interrupted";
  if (options_.time_limit.count() >= 0 && steady_clock::now() - started_ >= options_.time_limit)
    return "time limit";
  return "";
}

ChunkFrontier search_chunks(const Topology& topology, const Collective& collective,
                            const FrontierOptions& options, SearchClock& clock,
                            const MostRounds& most_rounds) {
  return ChunkSearch(topology, collective, options, clock, most_rounds).run();
}

}  // namespace chorale
