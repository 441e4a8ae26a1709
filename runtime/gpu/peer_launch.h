// The kernel of runtime/device/kernel.h on a GPU that has the memory of all ranks: one launch, of a type and
// an operation that are known when it runs.
#pragma once

#include <cuda_runtime.h>

#include "ir/elements.h"
#include "runtime/device/kernel.h"
#include "runtime/device/stack_function.h"

namespace chorale {

struct PeerKernelChoice {
  ElementType type = ElementType::Float32;
  bool wide = false;  // 16-bit floats are moved and added as float
};

// Arrays by rank, all on the device: as SharedMemory has them, whatever the types.
struct PeerPointers {
  void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  void* const* works = nullptr;
  void* const* scratches = nullptr;
  std::uint64_t* const* counters = nullptr;
  std::uint64_t* launches = nullptr;
  KernelEpilogue<StackFunction> epilogue = {};
};

// The number of thread blocks of `threads` threads that can be resident on the current device.
cudaError_t resident_blocks(const PeerKernelChoice&, int threads, int* blocks);

// `blocks` of the table of blocks, each in shape.slices thread blocks of `threads`, which must all be
// resident. Averages are finished where op is Avg and `average`.
struct PeerGrid {
  const PeerTables& tables;
  const PeerShape& shape;
  const PeerPointers& pointers;
  const Patience& patience;
  ReduceOp op;
  bool average;
  int blocks, threads;
  cudaStream_t stream;
};

// Enqueues it.
cudaError_t launch_peers(const PeerKernelChoice&, const PeerGrid&);

}  // namespace chorale
