// How a program becomes one of shared memory (codegen/passes/peer_lowering.h).
#pragma once

#include <functional>
#include <optional>

#include "ir/error.h"
#include "ir/peer_program.h"

namespace chorale {

// The defaults are for our kernel (runtime/device/kernel.h); codegen/mscclpp/plan.cpp sets those for plans.
struct PeerOptions {
  // If false, receivers signal their senders when a launch begins.
  bool double_scratch = true;
  // One counter for all signals of a rank to another, in their order; else one for each message, since
  // networks may deliver in any order.
  bool shared_counters = false;
  // The signals of a rank in a step are combined, and so are its waits: fewer instructions, and more waiting.
  bool by_steps = false;
  // Does the target have such a Move, of that rank? Empty: any. Fusion keeps to it.
  std::function<bool(Rank, const DataOperation&)> has = {};
  // The excess of a program of one block per rank over the target's limits, "a block with ...", and at which
  // rank; none if it takes it. Empty: it takes any, and there is one block per rank.
  std::function<std::optional<Fault>(const PeerProgram&)> excess = {};
  int most_blocks = 1;  // of a rank, where there is an excess
};

}  // namespace chorale
