// One engine for any communication on any machine. Trees are packed at prices, as fractions first and then as
// whole chunks; their sends are put into steps. How many chunks a block is cut into is its own choice.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/machine.h"

namespace chorale {

// Ends after some ten seconds where the bound is not met before.
inline constexpr long long kEngineWork = 900'000'000;

struct EngineQuestion {
  Machine topology;
  const Collective& one;  // with one chunk per block, for as many ranks
  int min_chunks = 1;
  int max_chunks = 0;  // per block; 0: as many as pay
  int max_steps = kAnySteps;
  int extra_rounds = kAnyRounds;  // k-synchronous: rounds <= steps + k
  Rate bound = {};                // no schedule has fewer rounds per chunk; of 0 rounds: nothing is known
  const std::atomic<bool>* stop = nullptr;
  // Work budget: links examined and sends scheduled, about 10 ns each. Levels of growing effort beyond it are
  // left out.
  long long work = kEngineWork;
  // Compositions are found although others beat them in steps and rounds, and what costs as much as something
  // that another construction made: where links differ one may be the fastest.
  bool is_timed = false;
  // The construction that is left out, of all that points name, or "classic" or "composition" for all of
  // these kinds: what it brings is the difference (benchmarks/ablation).
  std::string without = {};
};

// Calls `found` for each schedule that is better than all before in steps or in rounds per chunk: verified,
// its construction named, its collective with_chunks(one, cost.chunks). What is quick comes first. The calls
// for less work, an earlier stop or a lower max_chunks are among those for more, or what these find is as
// good; of schedules of more than 16 chunks or some 5,000 sends one that does not meet the bound is left out
// where another of fewer steps has a rate within 0.2 %, or has not much more over the bound. Nothing is found
// where a destination cannot be reached, and of chunks that start nowhere.
void construct(const EngineQuestion&, const std::function<void(Point)>& found);

// The same in parts, each of a chunk count, so that several questions are answered side by side.
class Construction {
 public:
  // What the question refers to must outlive this.
  explicit Construction(const EngineQuestion&);
  ~Construction();
  // The levels that this much work reaches may be done now, too. Where more is to be allowed later, what is
  // slow waits for more of what is usually better.
  void allow(long long work, bool more_later = false);
  // Does the next part. False where none is left that work allows, or when stopped.
  bool advance(const std::function<void(Point)>& found);
  // The dual of the packing of fractions, where that stays above the bound: what may show a stronger one
  // (Certificate::Kind::Trees). Each is returned once.
  std::optional<Prices> take_prices();
  // A stronger bound than the question's.
  void know(const Rate& bound);
  // Takes the rounds per chunk of the best point found elsewhere: packings of many chunks that are not
  // expected to beat it are left out.
  void know_found(double rate);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace chorale
