// Execution plans of MSCCL++ (JSON, read by its executor and by its NCCL shim): peer programs, as every
// target with memory that ranks share has them (codegen/passes/peer_lowering.h), written down.
//
// Rules that are kept (src/core/executor, src/core/include/execution_common.hpp): all keys that the loader
// requires; at most 64 operations, 16 channels and 16 remote buffers per thread block, 8 channels per
// operation; `nop` (all threads of the block meet) between operations that depend on each other. What a
// switch does is `gstore`, and `glres` where a sum goes to all of the team that it is of. Between nodes a
// proxy puts over port channels, and is awaited (`flush`) before what it reads may change. Protocol Simple,
// sums only; the executor requires sizes divisible by the chunks. What is printed is read back
// (codegen/mscclpp/read_plan.h) and verified (semantics/verify_peers.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/passes/options.h"
#include "ir/collective.h"
#include "ir/error.h"
#include "ir/peer_program.h"
#include "ir/verified.h"

namespace chorale {

struct MscclppOptions {
  int most_operations = 64;  // of a thread block
  long long min_bytes = 0;
  long long max_bytes = 0;  // 0: no limit
  // The node of each rank; empty: all are of one. Ranks of different nodes have port channels.
  std::vector<int> nodes = {};
};

// The options of a program for the executor (LoweringOptions::peers; with reuse_scratch = false, since thread
// blocks that have nothing to do with each other run concurrently).
PeerOptions peers_for_mscclpp(const MscclppOptions& = {});

// Where the format has no name for the collective.
std::optional<Fault> without_mscclpp_name(const Collective&);

// For input and output as the program has them, in place or not. Its name is the program's with a hash of the
// plan: the executor keeps what it has set up by the name. Throws InputError with what the format or
// its executor cannot do: a limit, a custom collective.
std::string to_mscclpp_plan(const Verified<PeerProgram>&, const MscclppOptions& = {});

}  // namespace chorale
