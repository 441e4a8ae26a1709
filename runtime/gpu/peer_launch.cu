// Types and operations that are known when it runs become template arguments: a kernel for each, chosen here.
// The launch is cooperative, which is refused where its thread blocks cannot all be resident; without that,
// blocks that wait for one that is not yet running would wait forever. Averages and widened 16-bit floats are
// finished by a second launch, since that has to come after all blocks of a rank, and the kernel has no
// barrier over the grid.
#include "runtime/device/gpu.h"
#include "runtime/device/element_types.h"
#include "runtime/gpu/peer_launch.h"

namespace chorale {
namespace {

// C++17: CMake 3.25 supports no later standard of nvcc's. So the functions called for each kernel are
// structs.
template <Combination op, typename Memory>
cudaError_t launch(const PeerTables& tables, const PeerShape& shape, const PeerPointers& at,
                   const Patience& patience, bool average, int blocks, int threads, cudaStream_t stream) {
  using T = typename Memory::User;
  using W = typename Memory::Work;
  Memory memory;
  memory.inputs = reinterpret_cast<T* const*>(at.inputs);
  memory.outputs = reinterpret_cast<T* const*>(at.outputs);
  memory.works = reinterpret_cast<W* const*>(at.works);
  memory.scratches = reinterpret_cast<W* const*>(at.scratches);
  memory.all_counters = at.counters;
  memory.launches = at.launches;
  memory.epilogue = at.epilogue;
  PeerLaunch<Memory> launch{tables, shape, memory, patience, average, 0, 0};
  void* arguments[] = {&launch};
  const auto grid = [&](int teams) { return dim3(static_cast<unsigned>(teams * shape.slices)); };
  const dim3 block(static_cast<unsigned>(threads));
  const cudaError_t error =
      cudaLaunchCooperativeKernel(peer_kernel<op, Memory>, grid(blocks), block, arguments, 0, stream);
  if (error != cudaSuccess || (!average && sizeof(T) == sizeof(W))) return error;
  return cudaLaunchCooperativeKernel(finish_kernel<op, Memory>, grid(tables.all_ranks), block, arguments, 0,
                                     stream);
}

struct Launch {
  const PeerTables& tables;
  const PeerShape& shape;
  const PeerPointers& pointers;
  const Patience& patience;
  const bool average;
  const int blocks, threads;
  const cudaStream_t stream;

  template <Combination op, typename Memory>
  cudaError_t of() const {
    return launch<op, Memory>(tables, shape, pointers, patience, average, blocks, threads, stream);
  }
};

struct Occupancy {
  const int threads;
  int* each;

  template <Combination op, typename Memory>
  cudaError_t of() const {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(each, peer_kernel<op, Memory>, threads, 0);
  }
};

// Calls kernel.of<op, Memory>().
template <typename T, typename Kernel>
struct WithOp {
  const bool wide;
  const Kernel& kernel;

  template <Combination op>
  cudaError_t operator()() const {
    if constexpr (sizeof(T) == 2)
      if (wide) return kernel.template of<op, SharedMemory<T, float, StackFunction>>();
    return kernel.template of<op, SharedMemory<T, T, StackFunction>>();
  }
};
template <typename Kernel>
cudaError_t with_kernel(const PeerKernelChoice& choice, const Kernel& kernel) {
  return with_type(choice.type, [&](auto element) {
    return with_op(choice.op, WithOp<decltype(element), Kernel>{choice.wide, kernel});
  });
}

}  // namespace

cudaError_t resident_blocks(const PeerKernelChoice& choice, int threads, int* blocks) {
  int device = 0, processors = 0, each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = with_kernel(choice, Occupancy{threads, &each});
  *blocks = processors * each;
  return error;
}

cudaError_t launch_peers(const PeerKernelChoice& choice, const PeerTables& tables, const PeerShape& shape,
                         const PeerPointers& pointers, const Patience& patience, bool average, int blocks,
                         int threads, cudaStream_t stream) {
  return with_kernel(choice, Launch{tables, shape, pointers, patience, average, blocks, threads, stream});
}

}  // namespace chorale
