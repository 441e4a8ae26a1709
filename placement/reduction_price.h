// What the instructions of one reduction take on a machine, under one matrix.
#pragma once

#include <memory>
#include <vector>

#include "cost/overlap.h"
#include "cost/simulator.h"
#include "ir/place_options.h"
#include "placement/strategy_space.h"

namespace chorale {

// A strategy with what each of its instructions moves.

struct ChargedInstruction {
  StrategyInstruction instruction = {};
  Charge charge = {};
};

// What may be done over the levels of a cut, over this hierarchy.
std::shared_ptr<const StrategySpace> space_of(SynthesisKind, const ParallelismMatrix&, const Reduction&,
                                              const std::vector<int>& cut);

// As a search has found it.
std::vector<ChargedInstruction> steps_of(const PricedStrategy&, const StrategySpace&);

// A strategy as written by a user: as far as the space has its instructions, one after the other. Fewer, if
// the next one does nothing, or leads to a state that cannot be completed.
std::vector<ChargedInstruction> charged(const StrategySpace&, const Strategy&);

// Gathers what the ReduceScatters have scattered.
std::vector<ChargedInstruction> backwards(std::vector<ChargedInstruction> scatters);

Strategy strategy_of(const std::vector<ChargedInstruction>&);

// The machine's levels that a reduction over these axes is split over, outermost first.
std::vector<int> reduced_levels(const ParallelismMatrix&, const std::vector<int>& axes);

// The single instruction that does all of it; of an AllGather the ReduceScatter that it undoes.
StrategyInstruction::Operation single_operation(Goal);
PricedInstruction priced_at(const StrategyInstruction&, const StepTime&);
// By its cheapest strategy, or its exchange; 0 where it has neither.
double least_us(const ReductionRanking&);

// How the levels are split for it.
std::vector<LevelSplit> level_splits(const Hierarchy&, const ParallelismMatrix&,
                                     const std::vector<int>& reduction_axes);

// Neighbouring levels that are treated as one, in every combination that leaves at most
// StrategySpace::kMostLevels: lengths, outermost first.
std::vector<std::vector<int>> level_cuts(int levels);

// The reduction's levels and what everything in its strategy space costs on the machine. The space counts
// only levels that the reduction is split over, from the outermost in; a cut states which of the machine's
// levels each of them is, or joins.
class ReductionPrice {
 public:
  ReductionPrice(const Hierarchy&, const ParallelismMatrix&, const Reduction&, Algorithm,
                 const std::vector<int>& cut);

  int levels() const { return static_cast<int>(parts_.size()); }
  int size(int level) const;

  // A charge has levels of size 2; true sizes come in here. At levels that the reduction does not join, all
  // groups do the same. Infinite where an element would be cut for no need.
  StepTime time(const Charge&) const;
  Charge whole(StrategyInstruction::Operation) const;  // of a single instruction over whole groups
  // Of what is done in one step: Goal::AllToAll, Goal::Shift.
  StepTime exchange(Goal) const;

  // The same as what they do to each path. The time is finite.
  StepLoad load(const Charge&) const;
  StepLoad exchange_load(Goal) const;

 private:
  std::vector<bool> joined(const Charge&) const;  // by level of the machine
  std::vector<GroupLoad> groups(const Charge&) const;
  std::vector<std::vector<Place>> boxes(const std::vector<Place>&) const;

  const std::vector<LevelSplit> splits_;
  const Simulator simulator_;
  const double bytes_, element_;
  const bool padded_;  // data are scattered in any case
  const Algorithm algorithm_;
  std::vector<std::vector<int>> parts_ = {};
};

// The communications of one iteration of a job, some of them side by side.

// How one of the job's reductions is done. Exchanges (Goal::AllToAll, Goal::Shift) need no steps; what is not
// split has none.
struct ReductionSteps {
  std::vector<int> cut = {};
  std::vector<ChargedInstruction> steps = {};
};

// The same with a single instruction in place of the steps of each reduction that is split.
std::vector<ReductionSteps> undivided(const Hierarchy&, const Job&, const ParallelismMatrix&, Algorithm,
                                      std::vector<ReductionSteps>);

struct Iteration {
  double us = 0;                     // until all have ended
  std::vector<TimeSpan> spans = {};  // by reduction
};

// One for each of the job's reductions. They begin as Reduction::after states, and share paths as
// cost/overlap.h has it.
Iteration iteration(const Hierarchy&, const Job&, const ParallelismMatrix&, Algorithm,
                    const std::vector<ReductionSteps>&);

// The user's strategy under this matrix. `fault` is set if its levels do not exist, or if the verifier
// refuses it (at true size up to 64 devices, beyond that on a machine with fewer of each), with the
// instruction at which it becomes invalid; else the times of its instructions, in the model in which the
// others are priced. Requires a reduction whose goal is the sum, over at least one level.
OwnStrategy evaluated(const Hierarchy&, const Job&, int reduction, const ParallelismMatrix&, Algorithm,
                      const NamedStrategy&);

}  // namespace chorale
