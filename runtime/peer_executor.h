// Runs peer programs on threads of this process: the source of the CUDA kernel (runtime/device/kernel.h),
// with a CPU thread for each thread of each block of each rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/peer_program.h"
#include "ir/verified.h"
#include "runtime/rank_plan.h"
#include "runtime/run.h"

namespace chorale {

struct PeerRunOptions {
  int slices = 1;   // that a block of the program is cut into
  int tile = 4096;  // elements of a tile; tiles of a chunk go to slices round-robin; a multiple of 16
  int threads = 1;  // of each slice
  // Of a block of the collective at a time; 0: all of it. Scratch has room for a segment. Programs with
  // several blocks per rank take all at once.
  std::int64_t segment_bytes = 1 << 20;
};

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
