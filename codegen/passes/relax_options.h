// How a program becomes blocks with queues (codegen/passes/relax.h).
#pragma once

#include <functional>
#include <optional>

#include "ir/block_program.h"
#include "ir/error.h"

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

}  // namespace chorale
