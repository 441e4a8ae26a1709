// How a program becomes one of shared memory (codegen/passes/peer_lowering.h).
#pragma once

#include <functional>
#include <optional>

#include "ir/fault.h"
#include "ir/peer_program.h"

namespace chorale {

// As they are they suit our kernel (runtime/device/kernel.h); codegen/mscclpp/plan.cpp asks for what suits
// plans.
struct PeerOptions {
  bool fuse = true;  // a value that is received and sent on stays in a register
  // Consecutive chunks that go the same way are one message, unless they belong together so and are too much
  // for a block.
  bool merge = true;
  // Or receivers tell their senders when a launch begins.
  bool double_scratch = true;
  // One counter for all that a rank tells another, in its order; or one for each message, which networks may
  // bring in any order.
  bool shared_counters = false;
  // What a rank tells and awaits in a step it tells and awaits together: fewer instructions, and more
  // waiting.
  bool by_steps = false;
  // Does the target have such a Move, of that rank? Empty: any. Fusion keeps to it.
  std::function<bool(Rank, const DataOperation&)> has = {};
  // What of a program of one block a rank is too much for the target, "a block with ...", and at which rank;
  // none if it takes it. Empty: it takes any, and there is one block a rank.
  std::function<std::optional<Fault>(const PeerProgram&)> excess = {};
  int most_blocks = 1;  // of a rank, where there is an excess
};

}  // namespace chorale
