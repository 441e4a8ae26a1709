// How a program becomes blocks with queues (codegen/passes/relax.h).
#pragma once

#include <functional>
#include <optional>

#include "ir/block_program.h"
#include "ir/error.h"
#include "ir/peer_program.h"

namespace chorale {

struct RelaxOptions {
  int channels = 1;       // messages of a connection are spread over this many, chains of one value together
  bool in_place = false;  // right for input and output in one memory
  int queue_depth = 2;    // of the target's queues: 1, 2, 4 or 8
  int most_instructions = 0;  // of a block: use more channels, up to 32, until none has more; 0: no limit
  // Local sums are stored over an operand: a sum that is stored elsewhere becomes a copy, and additions to
  // that.
  bool sums_in_place = false;
  // In place if that is right in both kinds of calls, as what writes no input is; else out of place.
  bool for_both = false;
  // What of the program the target cannot express or hold; none if it takes it. Blocks become shorter then,
  // by a quarter each time, from most_instructions down to 4. Empty: it takes any.
  std::function<std::optional<Fault>(const BlockProgram&)> excess = {};
};

// How a program becomes one of shared memory (codegen/passes/peer_lowering.h).

// The defaults are for our kernel (runtime/device/kernel.h); codegen/mscclpp/plan.cpp sets those for plans.
struct PeerOptions {
  // If false, receivers signal their senders when a launch begins.
  bool double_scratch = true;
  // One counter for all signals of a rank to another, in their order; else one for each message, since
  // networks may deliver in any order.
  bool shared_counters = false;
  // The signals of a rank in a step are combined, and so are its waits: fewer instructions, and more waiting.
  bool by_steps = false;
  // Messages stay with their sender, who stores them once for all receivers of a step; these load them.
  bool pull = false;
  bool switches = false;      // what a switch can do is left to it (codegen/passes/by_switch.h)
  bool team_signals = false;  // one Signal for all that a switch copies to
  // Does the target have such a Move, of that rank? Empty: any. Fusion keeps to it.
  std::function<bool(Rank, const DataOperation&)> has = {};
  // The excess of a program of one block per rank over the target's limits, "a block with ...", and at which
  // rank; none if it takes it. Empty: it takes any, and there is one block per rank.
  std::function<std::optional<Fault>(const PeerProgram&)> excess = {};
  int most_blocks = 1;  // of a rank, where there is an excess
};

}  // namespace chorale
