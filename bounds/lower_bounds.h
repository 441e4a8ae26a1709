// Lower bounds with their certificates, found before any solver is asked.
//
// A bound is a Claim (ir/frontier.h): "at most these steps: at least these rounds". Topologies are flattened.
// What is found has been accepted by the checker (check.h) before it is returned. docs/bounds.md proves each
// bound.
//
// A sum with one destination is bounded as its dual on the reversed topology; one with several by partitions,
// and by what one contribution needs to reach all destinations, or all contributions one. All of this holds
// for every schedule without in-network compute.
#pragma once

#include <atomic>
#include <memory>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// "At most one step less is impossible" (Distance, rounds = kNoSchedule, steps = fewest - 1).
struct StepBound {
  int steps = 0;
  Claim claim = {};  // none where nothing has to move
};

// Bounds for several questions about one collective; findings are reused from question to question. The
// topology and the collective must outlive it. Once `stop` is true no stronger bound is searched: the bounds
// are those found so far, and claims without a certificate, of 0 rounds, if there are none.
class LowerBounds {
 public:
  LowerBounds(const Topology&, const Collective&, const std::atomic<bool>* stop = nullptr);
  LowerBounds(const Topology&, Collective&&, const std::atomic<bool>* stop = nullptr) = delete;
  ~LowerBounds();

  // Returns the fewest steps of any schedule. Throws InputError where some chunk can never reach its
  // destination (disconnected topology), as do the others.
  const StepBound& fewest_steps();

  // The strongest bound on rounds for any number of steps (steps = kAnySteps) that we find: cuts (Newton's
  // method over max-flows), the concurrent flow LP, partitions.
  const Claim& fewest_rounds();

  // The strongest bound for at most `steps` steps: at least fewest_rounds, and timed flows where they show
  // more. A caller that only needs to know whether the bound reaches `enough` rounds passes it: then no
  // stronger bound is searched.
  Claim fewest_rounds_in(int steps, int enough = kNoSchedule);

  // The highest rate that is shown of at most `steps` steps, of any chunk count (Claim::any_chunks). Where
  // prices of single destinations are not near the rate of what was found, cuts are packed (cut_packing.h).
  // `work` is of that, in arcs of flows: 2.5e8 take about a second; prices take as long.
  Claim highest_rate_in(int steps, const Rate& found, long long work);

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

// Returns them for one question.
StepBound fewest_steps(const Topology&, const Collective&);
Claim fewest_rounds(const Topology&, const Collective&);
Claim fewest_rounds_in(const Topology&, const Collective&, int steps, int enough = kNoSchedule);

}  // namespace chorale
