// Execution plans of MSCCL++ (JSON, read by its executor and by its NCCL shim).
//
// Every message has a place of its own in the receiver's scratch: the sender puts it there and signals, the
// receiver waits and then copies or adds it. So nothing waits for room, and only the start of a launch needs
// a handshake (the peer has finished the last one). Chunks whose data never meet in a slot run in different
// thread blocks, each with channels of its own, so thread blocks of a rank need not wait for each other.
//
// Rules that are kept (src/core/executor, src/core/include/execution_common.hpp): all keys that the loader
// demands; at most 64 operations, 16 channels and 16 remote buffers a thread block, 8 channels an operation;
// `nop` (all threads of the block meet) between operations that depend on each other. A plan is for data in
// place or out of place; protocol Simple, sums only; sizes must be divisible by the chunks, says the executor.
// What is printed is read back (codegen/mscclpp/read_plan.h) and refereed (semantics/verify_peers.h).
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/program.h"

namespace chorale {

struct MscclppOptions {
  int most_operations = 64;  // of a thread block
  long long min_bytes = 0;
  long long max_bytes = 0;  // 0: no limit
  bool in_place = false;    // for input and output that share memory (in_place_slot)
};

// Throws InputError that says what the format or its executor cannot do: a limit, a custom collective,
// an algorithm that is wrong in place.
std::string to_mscclpp_plan(const Collective&, const Program&, const MscclppOptions& = {});

}  // namespace chorale
