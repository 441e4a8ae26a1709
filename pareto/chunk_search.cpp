// The idea: walk up the steps; for each number of them the fewest rounds lie between what claims exclude and
// what fewer steps, the space, or others (most_rounds) make uninteresting. That range is closed by few
// questions: the lowest first, since bounds are mostly tight; then, where a schedule is known above, of this
// chunk count or of another, the upper end, since one more step mostly does not help and what was constructed
// is mostly best; else upwards with growing strides. Upwards from what was constructed, too, took 1.5 times
// as long on the grid, in 85 refutations for 62.
//
// Invariant: the points fall in rounds as they rise in steps, and all lie in the space. The walk ends when a
// schedule of more steps would have to have fewer rounds than steps, or than any schedule has. The k of
// k-synchronous schedules is no such end: it lets more rounds in as the steps grow, so a number of steps that
// it closes implies nothing about the next.
#include "pareto/chunk_search.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "bounds/lower_bounds.h"
#include "construct/more_steps.h"
#include "ir/agreement.h"
#include "ir/work.h"
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
// It is asked to save questions, so it may not take longer than they; with this the grid is proven as before.
constexpr std::int64_t kMostConflictsAsked = 10'000;
// Work units of effort, and of a conflict: some 50 us on the machines of the grid.
constexpr long long kWorkOfEffort = 1'000'000;
constexpr long long kWorkOfConflict = 5'000;
// The conflicts of all questions of a chunk count are those of so many.
constexpr int kQuestionsOfAll = 4;
constexpr int kSolvedAtOnce = 4;  // chunk counts, before the effort is asked whether there are more

// None if negative.
std::int64_t fewer(std::int64_t a, std::int64_t b) {
  return a < 0 ? b : b < 0 ? a : std::min(a, b);
}

class ChunkSearch {
 public:
  ChunkSearch(const ChunkQuestion& question, const FrontierOptions& options, SearchClock& clock)
      : topology_(question.topology),
        collective_(question.collective),
        bounds_(topology_, collective_, options.synthesis.limits.stop),
        question_(question),
        options_(options),
        clock_(clock) {
    known_.topology = topology_;  // rounds_left reads the claims
    known_.claims = question.claims;
    result_.points = question.points;
  }

  ChunkFrontier frontier() {
    const int fewest = begin();
    if (fewest == 0) return std::move(result_);
    if (!over() && options_.synthesis.use_bounds) add_claim(bounds_.fewest_rounds());
    if (topology_.underlay) return std::move(result_);
    for (int steps = fewest; may_help(steps) && !over(); ++steps) {
      search_steps(steps);
      // Nothing was constructed, and nothing is decided: the limits leave nothing to be found.
      if (result_.points.empty() && gave_up() && steps - fewest > topology_.ranks) break;
    }
    return std::move(result_);
  }

  BudgetAnswer budget(std::optional<int> steps, std::optional<int> rounds) {
    const int fewest = begin();
    BudgetAnswer answer{.verdict = Verdict::Sat, .steps = steps.value_or(fewest)};
    if (fewest > 0)
      answer.verdict = rounds ? within(answer.steps, *rounds, steps.has_value())
                              : fewest_rounds_for(answer.steps, fewest, steps.has_value());
    answer.found = std::move(result_);
    return answer;
  }

 private:
  // The fewest steps that hops allow; with 0 all is done.
  int begin() {
    const StepBound& bound = bounds_.fewest_steps();
    if (bound.steps == 0)
      take({.cost = {.chunks = collective_.chunks_per_block}, .collective = collective_});
    else
      add_claim(bound.claim);
    return bound.steps;
  }

  bool gave_up() const { return !result_.given_up.empty(); }

  // Is there a schedule of at most `rounds` rounds, with these steps or the fewest? More steps than rounds
  // are useless.
  Verdict within(int& steps, int rounds, bool only_these) {
    if (!only_these) steps = std::min(steps, rounds);
    for (;; ++steps) {
      const Point* const known = best_within(steps);
      if (known != nullptr && known->cost.rounds <= rounds) return Verdict::Sat;
      if (over()) break;
      if (options_.synthesis.use_bounds) add_claim(bounds_.fewest_rounds_in(steps, rounds + 1));
      if (left(steps) <= rounds) {
        if (ask(steps, rounds)) return Verdict::Sat;
        if (last_ == Verdict::Unknown) break;
      }
      if (only_these || steps >= rounds) return Verdict::Unsat;
    }
    // Whether fewer steps are enough is open; what is known of more is not lost.
    if (!only_these)
      for (const SharedPoint& point : result_.points.points())
        if (point->cost.rounds <= rounds) {
          steps = point->cost.steps;
          break;
        }
    return Verdict::Unknown;
  }

  // Of the fewest rounds, with these steps or the fewest.
  Verdict fewest_rounds_for(int& steps, int fewest, bool only_these) {
    if (steps < fewest) return Verdict::Unsat;
    while (!only_these && sums_for_several() && best_within(steps) == nullptr && !over()) {
      if (left(steps) != kNoSchedule && (ask_any_rounds(steps) || last_ == Verdict::Unknown)) break;
      ++steps;
    }
    if (!over()) search_steps(steps);
    if (gave_up()) return Verdict::Unknown;
    return best_within(steps) != nullptr ? Verdict::Sat : Verdict::Unsat;
  }

  bool over() {
    if (question_.conflicts >= 0 && result_.conflicts > kQuestionsOfAll * question_.conflicts) {
      result_.given_up.insert(Stopped::ConflictLimit);
      return true;
    }
    const Stopped why = clock_.why_stopped();
    if (why != Stopped::No) result_.given_up.insert(why);
    return why != Stopped::No;
  }

  // Could a schedule of `steps` steps or more be of interest?
  bool may_help(int steps) const {
    if (steps > question_.space.max_steps) return false;
    const std::optional<int> most = most_for_more_steps(steps);
    return !most || *most >= std::max(left(kAnySteps), steps);
  }

  // Rounds that no schedule of these steps or more may exceed to be of interest.
  std::optional<int> most_for_more_steps(int steps) const {
    std::optional<int> most;
    const auto at_most = [&most](int rounds) { most = most ? std::min(*most, rounds) : rounds; };
    if (const Point* best = best_within(steps)) at_most(best->cost.rounds - 1);
    if (question_.most_rounds)
      if (const std::optional<int> interest = question_.most_rounds(steps)) at_most(*interest);
    if (question_.space.max_rounds != kAnyRounds) at_most(question_.space.max_rounds);
    return most;
  }

  std::optional<int> most_of_interest(int steps) const {
    const int allowed = chorale::most_rounds(question_.space, steps);
    const std::optional<int> most = most_for_more_steps(steps);
    if (allowed == kAnyRounds) return most;
    return most ? std::min(*most, allowed) : allowed;
  }

  const Point* best_within(int steps) const { return result_.points.best_within(steps); }

  // Hops do not determine their fewest steps.
  bool sums_for_several() const { return collective_.combining && !has_copying_dual(collective_); }

  // As many as these steps can use, if every chunk crosses every link in each of them.
  int ample_rounds(int steps) const {
    const auto chunks = static_cast<double>(collective_.chunks.size());
    double rounds = 1;
    for (const Link& link : topology_.links) rounds = std::max(rounds, chunks / link.bandwidth + 1);
    for (const SharedLimit& limit : topology_.limits)
      rounds = std::max(rounds, chunks * static_cast<double>(limit.links.size()) / limit.bandwidth + 1);
    return static_cast<int>(std::min(rounds * steps, 1e6));
  }

  int left(int steps) const {
    return rounds_left(known_, collective_.kind, collective_.chunks_per_block, steps);
  }

  // Is there a schedule of `steps` steps, of this chunk count or of others?
  bool something_known(int steps) const {
    return best_within(steps) != nullptr || (question_.most_rounds && question_.most_rounds(steps));
  }

  // The fewest rounds for this many steps, if of interest.
  void search_steps(int steps) {
    std::optional<int> most = most_of_interest(steps);
    if (options_.synthesis.use_bounds && (!most || left(steps) <= *most))
      add_claim(bounds_.fewest_rounds_in(steps));
    if (!most) {
      if (left(steps) == kNoSchedule || (sums_for_several() && !ask_any_rounds(steps))) return;
      most = most_of_interest(steps);
      if (!most) most = ample_rounds(steps);
    }
    int low = std::max({1, left(steps)});  // not excluded
    if (low > *most || over() || ask(steps, low)) return;
    low = std::max(low + 1, left(steps));
    // Where nothing is known yet, a question about many steps may take longer than finding something.
    if (something_known(steps) && may_help(steps + 1) && !std::exchange(walked_, true))
      raise_bound_for_any_steps();
    low = std::max(low, left(steps));
    for (int stride = something_known(steps) ? *most : 1; low <= *most && !over(); stride *= 2) {
      const int rounds =
          static_cast<int>(std::min<long long>(*most, static_cast<long long>(low) + stride - 1));
      if (ask(steps, rounds)) return bisect(steps, low);
      low = std::max(rounds + 1, left(steps));
    }
  }

  // A point was found for these steps, `low` rounds or more; find the best.
  void bisect(int steps, int low) {
    while (low < best_within(steps)->cost.rounds && !over()) {
      const int found = best_within(steps)->cost.rounds;
      const int middle = low + (found - low) / 2;
      if (!ask(steps, middle)) low = std::max(middle + 1, left(steps));
    }
  }

  // If the fewest rounds of any number of steps are not possible, one refutation shows it for every number of
  // steps.
  void raise_bound_for_any_steps() {
    while (!over()) {
      const int rounds = left(kAnySteps);
      if (rounds < 1 || rounds > kMostStepsAsked || asked_any_ == rounds) return;
      asked_any_ = rounds;
      const std::size_t before = result_.claims.size();
      ask(rounds, rounds, false);
      if (result_.claims.size() == before) return;
    }
  }

  // Of a question; none if negative.
  std::int64_t most_conflicts() const {
    return fewer(options_.synthesis.limits.conflicts, question_.conflicts);
  }

  // Sat: true, and a point of at most `steps` steps and `rounds` rounds is known. Unsat: false, claimed.
  // Unknown: false, noted.
  bool ask(int steps, int rounds, bool keep = true) {
    asked_ = {.steps = steps, .rounds = rounds};
    std::int64_t conflicts = most_conflicts();
    if (!keep) conflicts = fewer(conflicts, kMostConflictsAsked);
    return answered(std::to_string(steps) + " steps, " + std::to_string(rounds) + " rounds", keep,
                    [&](InstanceSolver& solver) { return solver.ask(asked_, clock_.next(), conflicts); });
  }

  bool ask_any_rounds(int steps) {
    asked_ = {.steps = steps, .rounds = kAnyRounds};
    return answered(std::to_string(steps) + " steps, any number of rounds", true,
                    [&](InstanceSolver& solver) {
                      return solver.ask_any_rounds(steps, clock_.next(), most_conflicts());
                    });
  }

  template <class Question>
  bool answered(const std::string& what, bool keep, const Question& question) {
    if (over()) return false;
    // Formulas are about links, and what they refute of these implies nothing about paths that were not
    // chosen. A rank that contributes relays no contribution there, which sums that are made at once may
    // need.
    if (topology_.underlay || (collective_.combining && adds_once(collective_))) {
      result_.given_up.insert(Stopped::NotExpressible);
      last_ = Verdict::Unknown;
      return false;
    }
    clock_.report(name_of(collective_) + ", " + std::to_string(collective_.chunks_per_block) +
                  (collective_.chunks_per_block == 1 ? " chunk: " : " chunks: ") + what);
    if (!solver_) {
      SynthesisOptions options = options_.synthesis;
      options.use_bounds = false;  // they are asked here
      solver_.emplace(topology_, collective_, options);
    }
    const steady_clock::time_point before = steady_clock::now();
    Answer answer = question(*solver_);
    const double seconds = duration_cast<milliseconds>(steady_clock::now() - before).count() / 1000.0;
    result_.conflicts += answer.conflicts;
    work_done() += answer.conflicts * kWorkOfConflict;
    last_ = answer.verdict;
    if (answer.verdict == Verdict::Unknown && keep) give_up(answer);
    if (answer.claim) {
      answer.claim->seconds = seconds;
      add_claim(*answer.claim);
    }
    if (answer.point && keep) {
      answer.point->seconds = seconds;
      return take_answer(std::move(*answer.point));
    }
    return answer.verdict == Verdict::Sat;
  }

  // A solver keeps to its time a little better than the clock of the search.
  void give_up(const Answer& answer) {
    Stopped why = clock_.why_stopped();
    if (why == Stopped::No && answer.too_large) why = Stopped::SizeLimit;
    if (why == Stopped::No && most_conflicts() >= 0) why = Stopped::ConflictLimit;
    if (why == Stopped::No) why = options_.time_limit.count() >= 0 ? Stopped::TimeLimit : Stopped::SizeLimit;
    result_.given_up.insert(why);
  }

  // A schedule of fewer steps than asked may have too many rounds for the steps that it does have. With a
  // step split it may lie in the space; it then has no more steps or rounds than `asked`. If that cannot be
  // done the question is left: refutations are of all schedules, and imply nothing about k-synchronous ones
  // alone.
  bool take_answer(Point point) {
    const Cost found = point.cost;
    if (!allowed(found)) {
      fit_in_more_steps(topology_, point, question_.space.extra_rounds);
      if (!allowed(point.cost) || point.cost.rounds > asked_.rounds || point.cost.steps > asked_.steps) {
        result_.given_up.insert(Stopped::NotExpressible);
        return false;
      }
    }
    take(std::move(point));
    return true;
  }

  bool allowed(const Cost& cost) const {
    return cost.steps <= question_.space.max_steps &&
           cost.rounds <= chorale::most_rounds(question_.space, cost.steps);
  }

  void take(Point point) {
    auto shared = std::make_shared<const Point>(std::move(point));
    if (!result_.points.put(shared)) return;
    clock_.found_point();
    if (question_.found) question_.found(shared);
  }

  void add_claim(const Claim& claim) {
    // Only what is stronger than the claims before.
    if (claim.certificate.kind == Certificate::Kind::None) return;
    if (claim.rounds <= left(claim.steps)) return;
    known_.claims.push_back(claim);
    result_.claims.push_back(claim);
    if (question_.claimed) question_.claimed(claim);
  }

  const Topology& topology_;
  const Collective& collective_;
  LowerBounds bounds_;
  const ChunkQuestion& question_;
  const FrontierOptions& options_;
  SearchClock& clock_;
  std::optional<InstanceSolver> solver_ = {};
  Result known_ = {};
  ChunkFrontier result_ = {};
  int asked_any_ = 0;
  bool walked_ = false;  // some number of steps was searched
  Budget asked_ = {.steps = kAnySteps, .rounds = kAnyRounds};
  Verdict last_ = Verdict::Unknown;
};

}  // namespace

SearchClock::SearchClock(const FrontierOptions& options)
    : options_(options), deadline_(options.time_limit, options.synthesis.limits.stop) {}

void SearchClock::report(const std::string& doing) {
  if (options_.progress) options_.progress({.doing = doing, .points = points_, .seconds = seconds()});
}

double SearchClock::seconds() const {
  return duration_cast<milliseconds>(steady_clock::now() - started_).count() / 1000.0;
}

Stopped SearchClock::why_stopped() const {
  return deadline_.interrupted() ? Stopped::Interrupted
         : deadline_.passed()    ? Stopped::TimeLimit
         : left() == 0           ? Stopped::Effort
                                 : Stopped::No;
}

std::optional<long long> SearchClock::left_of(long long spent) const {
  if (options_.effort < 0) return std::nullopt;
  return std::max(0LL, options_.effort * kWorkOfEffort - spent);
}

ChunkFrontier search_chunks(const ChunkQuestion& question, const FrontierOptions& options,
                            SearchClock& clock) {
  return ChunkSearch(question, options, clock).frontier();
}

BudgetAnswer search_budget(const ChunkQuestion& question, std::optional<int> steps, std::optional<int> rounds,
                           const FrontierOptions& options, SearchClock& clock) {
  return ChunkSearch(question, options, clock).budget(steps, rounds);
}

// With a k, phases searched with all of it and then split lost: two phases share the k, and which share is
// best is known only when they are composed: hub:6 AllReduce --k 3 found less than --k 2.

namespace {

// Runs the tasks in order on `jobs` threads, of which this is one. They are dealt out one by one, by a
// counter, so a long one holds up no other. The first exception is thrown here, once all threads have ended;
// what had not begun by then is left out.
void side_by_side(const std::vector<std::function<void()>>& tasks, int jobs) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      try {
        tasks[i]();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = tasks.size();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int j = 1; j < jobs; ++j) threads.emplace_back(work);
  work();
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

// The most rounds with C chunks that beat all points of at most these steps. One that gathers everything
// first is beaten by its equal: a direct schedule needs no memory for what it gathers.
std::optional<int> rounds_to_beat(const ParetoSet& found, int steps, int chunks) {
  const Point* const best = found.best_within(steps);
  if (best == nullptr) return std::nullopt;
  const int equal = best->method == Method::Gathered ? 0 : 1;
  return static_cast<int>((static_cast<long long>(best->cost.rounds) * chunks - equal) / best->cost.chunks);
}

class CountSearch {
 public:
  CountSearch(std::int64_t conflicts, bool last, Findings& found, FrontierOptions& options,
              SearchClock& clock)
      : conflicts_(conflicts),
        last_(last),
        found_(found),
        options_(options),
        clock_(clock),
        asked_(found.question().collective),
        space_(found.question().space) {}

  void solve_all(int most) {
    most = std::min(most, space_.max_chunks);
    const auto solve_counts = [&](const std::vector<CollectiveKind>& kinds) {
      const ParetoSet known = found_.frontier();
      const std::vector<Claim> claims = found_.claims();
      // Of all tasks alike, so that their answers do not depend on how many are done at once.
      const auto counts = static_cast<long long>(kinds.size()) * std::max(1, most - space_.min_chunks + 1);
      conflicts_left_ = clock_.left().value_or(-1);
      if (conflicts_left_ >= 0) conflicts_left_ /= counts * kWorkOfConflict * kQuestionsOfAll;
      // Twice as many each time: the effort may end what so many counts take.
      for (int first = space_.min_chunks, last = std::min(first + kSolvedAtOnce - 1, most);
           first <= most && !clock_.over(); first = last + 1, last = std::min(2 * last, most)) {
        std::vector<std::function<void()>> tasks;
        for (int chunks = first; chunks <= last; ++chunks)
          for (const CollectiveKind kind : kinds) {
            ParetoSet to_beat = kind == asked_.kind ? known : found_.phase(kind, chunks);
            tasks.push_back([=, this, to_beat = std::move(to_beat)] {
              if (!clock_.over()) work_ += count_work([&] { solve(kind, chunks, to_beat, claims); });
            });
          }
        work_ = 0;
        side_by_side(tasks, options_.jobs);
        clock_.spend(work_);
      }
    };
    if (found_.is_allreduce()) {
      std::vector<CollectiveKind> phases = first_phases(asked_);
      phases.push_back(CollectiveKind::Allgather);
      solve_counts(phases);
    }
    solve_counts({asked_.kind});
  }

 private:
  void solve(CollectiveKind kind, int chunks, const ParetoSet& to_beat, const std::vector<Claim>& claims) {
    const Collective collective = of_kind(asked_, kind, chunks);
    ChunkQuestion question{.topology = found_.question().topology,
                           .collective = collective,
                           .space = space_,
                           .most_rounds = [&](int steps) { return rounds_to_beat(to_beat, steps, chunks); },
                           .claims = claims,
                           .conflicts = fewer(conflicts_, conflicts_left_),
                           .found = [&](const SharedPoint& point) { found_.put(kind, point); },
                           .claimed = [&](const Claim& claim) { found_.put(claim); }};
    ChunkFrontier found = search_chunks(question, options_, clock_);
    if (conflicts_left_ >= 0 && question.conflicts == conflicts_left_ &&
        found.given_up.erase(Stopped::ConflictLimit) > 0)
      found.given_up.insert(Stopped::Effort);
    if (last_) found_.give_up(found.given_up);
    if (space_.extra_rounds != kAnyRounds) solve_restricted(question, kind, found);
  }

  // With a k, spaces of smaller ones are searched, too, where that may find more:
  // - for the phases of an AllReduce, since two phases share the k, and which share is best is known only
  //   together;
  // - where questions were left open, since limits or luck may have spared the answer in the smaller space,
  //   and a search of a larger space must never find less. They are then solved anew, just as if the smaller
  //   space had been searched.
  void solve_restricted(ChunkQuestion& question, CollectiveKind kind, const ChunkFrontier& found) {
    const bool shares = kind != asked_.kind;
    const auto cut = [](const ChunkFrontier& part) {
      return part.given_up.contains(Stopped::ConflictLimit) ||
             part.given_up.contains(Stopped::NotExpressible);
    };
    const std::vector<Claim> known = question.claims;
    bool again = cut(found);
    int extra =
        std::max(most_extra(found.points), found_.most_extra(kind, question.collective.chunks_per_block)) - 1;
    while ((shares || again) && extra >= 0 && !clock_.over()) {
      question.space.extra_rounds = extra;
      question.claims = again ? std::vector<Claim>{} : found.claims;
      const ChunkFrontier restricted = search_chunks(question, options_, clock_);
      again = cut(restricted);
      extra = most_extra(restricted.points) - 1;
    }
  }

  static int most_extra(const ParetoSet& points) {
    int most = -1;
    for (const SharedPoint& point : points.points())
      most = std::max(most, point->cost.rounds - point->cost.steps);
    return most;
  }

  const std::int64_t conflicts_;
  std::int64_t conflicts_left_ = -1;  // of a question, by what is left of the effort; none if negative
  std::atomic<long long> work_ = 0;
  const bool last_;
  Findings& found_;
  FrontierOptions& options_;
  SearchClock& clock_;
  const Collective& asked_;
  const Space& space_;
};

}  // namespace

void search_counts(int most, std::int64_t conflicts, bool last, Findings& found, FrontierOptions& options,
                   SearchClock& clock) {
  CountSearch(conflicts, last, found, options, clock).solve_all(most);
}

}  // namespace chorale
