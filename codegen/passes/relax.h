// Program -> BlockProgram: steps become dependencies, and messages find their blocks. The passes in their
// order; each takes a whole program and leaves a whole program.
#pragma once

#include "codegen/passes/options.h"
#include "ir/block_program.h"
#include "ir/program.h"
#include "semantics/verified.h"

namespace chorale {

// The result has been accepted by semantics/verify_blocks for queues of its queue_depth (at most the one
// requested), and in place if that was requested. None where a limit cannot be kept (Limit), where queues are
// not deep enough (Deadlock), or where the collective cannot be done in place.
Verification<BlockProgram> try_relax(const Verified<Program>&, const RelaxOptions& = {});

}  // namespace chorale
