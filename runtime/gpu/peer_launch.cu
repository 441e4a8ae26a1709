// Types that are known when it runs become template arguments: a kernel for each, chosen here.
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
struct Launch {
  const PeerGrid& on;

  template <typename Memory>
  cudaError_t of() const {
    using T = typename Memory::User;
    using W = typename Memory::Work;
    Memory memory;
    memory.inputs = reinterpret_cast<T* const*>(on.pointers.inputs);
    memory.outputs = reinterpret_cast<T* const*>(on.pointers.outputs);
    memory.works = reinterpret_cast<W* const*>(on.pointers.works);
    memory.scratches = reinterpret_cast<W* const*>(on.pointers.scratches);
    memory.all_counters = on.pointers.counters;
    memory.launches = on.pointers.launches;
    memory.epilogue = on.pointers.epilogue;
    PeerLaunch<Memory, Given> launch{on.tables, on.shape, memory, on.patience, {combination_of(on.op)}, on.average, 0, 0};
    void* arguments[] = {&launch};
    const auto grid = [&](int teams) { return dim3(static_cast<unsigned>(teams * on.shape.slices)); };
    const dim3 block(static_cast<unsigned>(on.threads));
    const cudaError_t error = cudaLaunchCooperativeKernel(peer_kernel<Memory, Given>, grid(on.blocks), block,
                                                          arguments, 0, on.stream);
    if (error != cudaSuccess || (!on.average && sizeof(T) == sizeof(W))) return error;
    return cudaLaunchCooperativeKernel(finish_kernel<Memory, Given>, grid(on.tables.all_ranks),
                                       block, arguments, 0, on.stream);
  }
};

struct Occupancy {
  const int threads;
  int* each;

  template <typename Memory>
  cudaError_t of() const {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(each, peer_kernel<Memory, Given>, threads, 0);
  }
};

// Calls kernel.of<Memory>().
template <typename Kernel>
cudaError_t with_kernel(const PeerKernelChoice& choice, const Kernel& kernel) {
  return with_type(choice.type, [&](auto element) {
    using T = decltype(element);
    if constexpr (sizeof(T) == 2)
      if (choice.wide) return kernel.template of<SharedMemory<T, float, StackFunction>>();
    return kernel.template of<SharedMemory<T, T, StackFunction>>();
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

cudaError_t launch_peers(const PeerKernelChoice& choice, const PeerGrid& grid) {
  return with_kernel(choice, Launch{grid});
}

}  // namespace chorale
