// The communications of one iteration of a job, some of them side by side.
#pragma once

#include <vector>

#include "cost/overlap.h"
#include "ir/place_options.h"
#include "placement/charged_strategy.h"

namespace chorale {

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

}  // namespace chorale
