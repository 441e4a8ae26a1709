// The frontier of one collective with a fixed number of chunks: which (steps, rounds) are possible, and
// claims that nothing below them is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "pareto/search.h"

namespace chorale {

// Time, Ctrl-C and progress of a whole search; shared by its threads.
class SearchClock {
 public:
  explicit SearchClock(const FrontierOptions&);
  // Limits for the next question; none if the search is over.
  std::optional<SolveLimits> next_limits() const;
  void report(const std::string& doing);
  void found_point() { ++points_; }
  double seconds() const;
  std::string why_stopped() const;  // "" while it goes on

 private:
  const FrontierOptions& options_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::atomic<int> points_ = 0;
};

struct ChunkFrontier {
  std::vector<Point> points = {};
  std::vector<Claim> claims = {};
  bool undecided = false;  // a solver gave up on a question
};

// The most rounds that are still of interest for at most `steps` steps; none if all are.
using MostRounds = std::function<std::optional<int>(int steps)>;

// `most_rounds` must not grow with the steps. Points are of interest only within it (and better than found
// before).
ChunkFrontier search_chunks(const Topology&, const Collective&, const FrontierOptions&, SearchClock&,
                            const MostRounds& most_rounds = {});

}  // namespace chorale
