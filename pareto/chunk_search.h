// The solver's part of a search, for one collective with a fixed number of chunks: which (steps, rounds) are
// possible, and claims that nothing below them is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/search_options.h"
#include "pareto/findings.h"
#include "pareto/pareto_set.h"
#include "solvers/deadline.h"

namespace chorale {

// Time, Ctrl-C and progress of a whole search; shared by its threads.
class SearchClock {
 public:
  explicit SearchClock(const FrontierOptions&);
  // Counts work against the effort that is asked for: by one thread, while no other asks.
  void spend(long long work) { spent_ += work; }
  // The same of what is made for its time alone, for which there is as much again: machines of equal links
  // need none of it, and one link more must not take from what is found on them.
  void spend_on_times(long long work) { spent_on_times_ += work; }
  // Returns what is left of the effort; none if there is no limit.
  std::optional<long long> left() const { return left_of(spent_); }
  std::optional<long long> left_for_times() const { return left_of(spent_on_times_); }
  // Returns the end of the next question.
  Deadline next() const { return deadline_.or_in(options_.synthesis.limits.time); }
  bool over() const { return why_stopped() != Stopped::No; }
  // By time or a caller, and not by the effort, which another thread may be spending.
  bool is_cut() const { return deadline_.over(); }
  Stopped why_stopped() const;  // No while it goes on
  void report(const std::string& doing);
  void found_point() { ++points_; }
  double seconds() const;

 private:
  std::optional<long long> left_of(long long spent) const;

  const FrontierOptions& options_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const Deadline deadline_;
  std::atomic<int> points_ = 0;
  long long spent_ = 0, spent_on_times_ = 0;
};

struct ChunkFrontier {
  ParetoSet points = {};
  std::vector<Claim> claims = {};
  std::set<Stopped> given_up = {};  // why questions were left open; empty: none was
  std::int64_t conflicts = 0;
};

// The most rounds that are still of interest for at most `steps` steps; none if all are. Must not grow with
// the steps.
using MostRounds = std::function<std::optional<int>(int steps)>;

struct ChunkQuestion {
  const Topology& topology;
  const Collective& collective;
  Space space = {};                // its steps and rounds
  MostRounds most_rounds = {};     // points are of interest only within it
  std::vector<Claim> claims = {};  // that hold; they are not returned
  ParetoSet points = {};           // that are known, of this chunk count
  // The conflicts of a question, where the options allow more; of all together four times as many. None if
  // negative.
  std::int64_t conflicts = -1;
  // Called with each point and claim when it is found.
  std::function<void(const SharedPoint&)> found = {};
  std::function<void(const Claim&)> claimed = {};
};

// Searches by bounds and solvers; nothing is constructed.
ChunkFrontier search_chunks(const ChunkQuestion&, const FrontierOptions&, SearchClock&);

// Searches one schedule: of at most these steps, or else of the fewest possible; of at most these rounds, or
// else of the fewest possible with these steps. `steps`: the number that was searched. Unknown may come with
// a point: what was found until then.
struct BudgetAnswer {
  Verdict verdict = Verdict::Unknown;
  int steps = 0;
  ChunkFrontier found = {};
};
BudgetAnswer search_budget(const ChunkQuestion&, std::optional<int> steps, std::optional<int> rounds,
                           const FrontierOptions&, SearchClock&);

// What solvers find of single chunk counts, beyond what is found.

// Chunk counts from the least that is asked for up to `most`, side by side, with `conflicts` conflicts per
// question (none if negative); points and claims are put into `found`, and, in the `last` search, why
// questions were left open. The direct search of an AllReduce comes after its phases, since what they are
// composed to is what it has to beat. What is done is counted as work; what is left of the effort limits
// conflicts, too.
void search_counts(int most, std::int64_t conflicts, bool last, Findings& found, FrontierOptions& options,
                   SearchClock&);

}  // namespace chorale
