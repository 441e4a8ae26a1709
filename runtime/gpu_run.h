// Runs peer programs with all ranks on one GPU: the kernel of runtime/device/kernel.h as CUDA launches it.
// The program has this in a library of its own (runtime/parts); without that library it throws InputError.
#pragma once

#include <vector>

#include "ir/peer_program.h"
#include "ir/run_options.h"
#include "ir/verified.h"

namespace chorale {

// By types, then ops, then bytes; every row is checked before and after it is timed, as in run.h; data are
// copied to the GPU and back between runs. A time is that of the launch, by the GPU's clock. Throws
// InputError where there is no GPU, too little memory on it, or no room for all thread blocks at once; Hang
// that names rank, block, instruction and the rank that did not arrive.
std::vector<RunRow> run_peers_on_gpu(const Verified<PeerProgram>&, const RunOptions&);

}  // namespace chorale
