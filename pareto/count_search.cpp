// With a k, phases searched with all of it and then split lost: two phases share the k, and which share is
// best is known only when they are composed: hub:6 AllReduce --k 3 found less than --k 2.
#include "pareto/count_search.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace chorale {
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
      std::vector<std::function<void()>> tasks;
      for (int chunks = space_.min_chunks; chunks <= most; ++chunks)
        for (const CollectiveKind kind : kinds) {
          ParetoSet to_beat = kind == asked_.kind ? known : found_.phase(kind, chunks);
          tasks.push_back([=, this, to_beat = std::move(to_beat)] {
            if (!clock_.over()) solve(kind, chunks, to_beat, claims);
          });
        }
      side_by_side(tasks, options_.jobs);
    };
    if (found_.is_allreduce()) solve_counts({CollectiveKind::ReduceScatter, CollectiveKind::Allgather});
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
                           .conflicts = conflicts_,
                           .found = [&](const SharedPoint& point) { found_.put(kind, point); },
                           .claimed = [&](const Claim& claim) { found_.put(claim); }};
    const ChunkFrontier found = search_chunks(question, options_, clock_);
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
