// The kernel on a GPU. Copied into emitted programs.
#pragma once

#include <cuda_runtime.h>

#include "runtime/device/kernel.h"

namespace chorale {

class GpuTeam {
 public:
  static constexpr int kTogether = 4;  // loads of 16 bytes of a thread in flight
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  // All threads meet. Returns whether thread 0's argument was true.
  __device__ bool sync(bool good = true) { return __syncthreads_and(threadIdx.x != 0 || good) != 0; }
};

// What a kernel over real peers, one process per GPU, has of its own GPU: a base of memories.
template <typename T, typename Function = NoFunction>
struct OwnMemory {
  using User = T;
  using Work = T;
  using Epilogue = KernelEpilogue<Function>;

  T* own_input;
  T* own_output;
  std::uint64_t* launches;
  Epilogue epilogue;

  __device__ T* input(int) const { return own_input; }
  __device__ T* output(int) const { return own_output; }
  __device__ T* work(int) const { return own_output; }
};

// A grid of blocks x slices, all resident: a cooperative launch.
template <typename Memory, typename Combine>
__global__ void __launch_bounds__(512, 1)
    peer_kernel(const __grid_constant__ PeerLaunch<Memory, Combine> launch) {
  GpuTeam team;
  const int block = launch.first_block + static_cast<int>(blockIdx.x) / launch.shape.slices;
  const int slice = static_cast<int>(blockIdx.x) % launch.shape.slices;
  PeerKernel<Memory, Combine, GpuTeam>(launch, block, slice, team).run();
}

// After it, in the same stream, if there are averages or widened 16-bit floats: a grid of ranks x slices.
template <typename Memory, typename Combine>
__global__ void __launch_bounds__(512, 1)
    finish_kernel(const __grid_constant__ PeerLaunch<Memory, Combine> launch) {
  GpuTeam team;
  const int rank = launch.first_rank + static_cast<int>(blockIdx.x) / launch.shape.slices;
  const int slice = static_cast<int>(blockIdx.x) % launch.shape.slices;
  PeerKernel<Memory, Combine, GpuTeam>(launch, 0, slice, team).finish(rank);
}

}  // namespace chorale
