// Runs peer programs on threads of this process: the source of the CUDA kernel (runtime/device/kernel.h),
// with a CPU thread for each thread of each block of each rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "ir/peer_program.h"
#include "ir/run_options.h"
#include "ir/verified.h"
#include "runtime/elements.h"
#include "runtime/peer_run_options.h"

namespace chorale {

// By types, then ops, then bytes; every row is checked before and after it is timed, as in run.h. A time is
// from a barrier of all ranks to the end of the last. Throws Hang that names rank, block, instruction and the
// rank that did not arrive, and InputError if 16-bit floats are to be added as float32 in a program for one
// memory.
std::vector<RunRow> run_peers_on_threads(const Verified<PeerProgram>&, const RunOptions&,
                                         const PeerRunOptions& = {});

// Launch after launch, each with inputs of its own, ranks running ahead of each other as they like; elements
// that were wrong in all of them.
std::int64_t wrong_in_free_run(const Verified<PeerProgram>&, const BlockShape&, ReduceOp, int launches,
                               const PeerRunOptions& = {},
                               std::chrono::milliseconds timeout = std::chrono::minutes(1));

}  // namespace chorale
