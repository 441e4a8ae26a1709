// The sums and copies of a rank between two steps, as one launch of a kernel.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdint>

#include "runtime/device/epilogue.h"
#include "runtime/device/wire.h"

namespace chorale {

// The function applied to complete sums: an emitted program may have defined it before this.
#ifndef CHORALE_STEP_FUNCTION
using StepFunction = NoFunction;
#endif
// What floats are while they travel and are added up; likewise. Then those who call have packed them.
#ifndef CHORALE_STEP_UNIT
using StepUnit = float;
#endif

// A kernel's argument, so it goes by value: nothing is allocated, and a graph that captures the launch keeps
// it. At most 4 KiB, which every driver accepts.
//
// A chain is a list of sums over ranges of one length; each thread does all sums of its elements in their
// order, so sums of a chain may depend on each other, element by element. Chains may not.
struct LocalWork {
  static constexpr int kMostChains = 32, kMostSums = 64, kMostSources = 192, kMostTensors = 16;

  int chains = 0, sums = 0, sources = 0;
  std::uint16_t sums_end[kMostChains];   // of a chain; the first begins at 0
  std::uint16_t sources_end[kMostSums];  // of a sum
  std::uint8_t aligned[kMostChains];     // all its addresses are multiples of 16
  std::int64_t elements[kMostChains];    // of each range of the chain
  void* dst[kMostSums];                  // of a sum: its first source (+) its second (+) ...
  const void* source[kMostSources];
  // Of a sum that StepFunction is applied to, averages divided by `divisor` ranks: the index of its first
  // element. Else -1.
  std::int64_t index[kMostSums];
  int average_of = 1;
  bool once = false;                  // sums of short floats are rounded once, and not after each addition
  const void* tensors[kMostTensors];  // of this rank, as RankTensors has them
  std::int64_t slice = 0;
};

// Enqueues it. With divisor > 1, sums are divided by it. Requires one of NCCL's ten types up to bfloat16, or
// one of a byte's length where every sum has one source; sum, prod, max, min or avg (the same as sum).
cudaError_t launch_local_work(ncclDataType_t, ncclRedOp_t, const LocalWork&, int divisor, cudaStream_t);

// Has the kernel on the device before the first launch: loading it then could wait for kernels that wait for
// other ranks, and not be captured.
cudaError_t load_local_work(ncclDataType_t, ncclRedOp_t);

}  // namespace chorale
