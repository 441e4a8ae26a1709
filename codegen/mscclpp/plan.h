// Execution plans of MSCCL++ (JSON, read by its executor and by its NCCL shim), from programs of epochs: lowered to
// peer programs as every target with memory that ranks share (codegen/passes/peer_lowering.h), and written down.
//
// Rules that are kept (src/core/executor, src/core/include/execution_common.hpp): all keys that the loader
// demands; at most 64 operations, 16 channels and 16 remote buffers a thread block, 8 channels an operation;
// `nop` (all threads of the block meet) between operations that depend on each other. Protocol Simple, sums only;
// sizes must be divisible by the chunks, says the executor. What is printed is read back (codegen/mscclpp/read_plan.h)
// and refereed (semantics/verify_peers.h).
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/program.h"

namespace chorale {

struct MscclppOptions {
  int most_operations = 64;  // of a thread block
  long long min_bytes = 0;
  long long max_bytes = 0;  // 0: no limit
};

// For input and output as the program has them, in place or not. Throws InputError that says what the format or its
// executor cannot do: a limit, a custom collective.
std::string to_mscclpp_plan(const Collective&, const Program&, const MscclppOptions& = {});

}  // namespace chorale
