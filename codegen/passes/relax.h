// Program -> BlockProgram: steps become dependencies, and messages find their blocks. The passes in their
// order; each takes a whole program and leaves a whole program.
#pragma once

#include <optional>

#include "ir/block_program.h"
#include "ir/collective.h"
#include "ir/fault.h"
#include "ir/program.h"
#include "ir/topology.h"

namespace chorale {

struct RelaxOptions {
  int channels = 1;       // messages of a connection are spread over so many, chains of one value together
  bool in_place = false;  // right for input and output in one place
  bool fuse = true;       // a value that is received and sent on stays in a register
  bool merge = true;      // consecutive chunks that go the same way are one message
  int queue_depth = 2;    // of the target's queues: 1, 2, 4 or 8
  int most_instructions = 0;  // of a block: use more channels, up to 32, until none has more; 0: no limit
};

struct Relaxed {
  BlockProgram program = {};
  std::optional<Fault> fault = {};  // why there is none: Limit, Deadlock, or what is wrong in place
};

// The result has been accepted by semantics/verify_blocks for queues of its queue_depth (at most the one
// asked for), and in place where that was asked for. None where a limit cannot be kept, or where the collective
// cannot be done in place.
Relaxed try_relax(const Collective&, const Program&, const RelaxOptions& = {});

// The same; throws InputError where there is none.
BlockProgram relax(const Collective&, const Program&, const RelaxOptions& = {});

}  // namespace chorale
