// A strategy with what each of its instructions moves.
#pragma once

#include <memory>
#include <vector>

#include "placement/strategy_space.h"

namespace chorale {

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

}  // namespace chorale
