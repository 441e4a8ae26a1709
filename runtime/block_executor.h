// Runs block programs in one process: one thread per block of each rank, queues of bounded depth between
// them.
#pragma once

#include <chrono>
#include <vector>

#include "ir/block_program.h"
#include "ir/run_options.h"
#include "ir/verified.h"
#include "runtime/elements.h"

namespace chorale {

struct BlockRunOptions {
  int queue_depth = 2;                        // at least the program's
  bool in_place = false;                      // input and output share memory as in in_place_slot
  std::chrono::milliseconds timeout{60'000};  // of one wait
  // What operations with a position do where the program has no expression of its own, to sums in the type in
  // which they are kept, after averages are divided; none: nothing.
  EpilogueFunction epilogue = {};
};

// Runs the program once on given inputs by rank; the outputs (in place: those parts of the shared memory).
// Throws Hang, which names rank, block, instruction and the missing event.
std::vector<std::vector<std::byte>> outputs_of(const Verified<BlockProgram>&, const BlockShape&, ReduceOp,
                                               const std::vector<std::vector<std::byte>>& inputs,
                                               const BlockRunOptions& = {});

// By types, then ops, then bytes; every row is checked before and after it is timed, as in run.h. A time is
// from a barrier of all blocks to the end of the last.
std::vector<RunRow> run_blocks_on_threads(const Verified<BlockProgram>&, const RunOptions&,
                                          const BlockRunOptions& = {});

}  // namespace chorale
