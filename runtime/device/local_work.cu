// The sums and copies of a step, in one launch. A row of the grid is a chain, and an element is done by one
// thread through all sums of its chain, which loads all sources of a sum before it stores: so sums may depend
// on each other, a destination may be a source, and no barrier is needed. The grid is as wide as the longest
// chain wants, at four elements a thread and at most 256 blocks; on a longer chain the grid iterates again,
// and in a row that is shorter the rest of the threads have nothing to do.
//
// 16 bytes are moved at a time where every address of a chain is aligned; otherwise, and for the last
// elements, one element. An element is in one of the two loops, and there in one iteration of one thread.
#include <algorithm>

#include "runtime/device/elements.h"
#include "runtime/device/local_work.h"

namespace chorale {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 256;  // of a chain

template <typename T, int width>
struct alignas(width == 1 ? alignof(T) : sizeof(T) * width) Pack {
  T element[width];
};

template <typename T>
__device__ T finished(const LocalWork& work, T sum, std::int64_t index) {
  if (work.average_of > 1) sum = averaged(sum, work.average_of);
  return applied(StepFunction(), sum, index, RankTensors{work.tensors, work.slice});
}

// Elements e .. e + width - 1 of all sums of a chain.
// The range of sums is found anew for each pack, from ends that are in constant memory: they come with the
// argument.
template <typename T, Combination op, int width>
__device__ void add_up(const LocalWork& work, int chain, std::int64_t e, int divisor) {
  constexpr int k = UnitOf<T>::kValues;
  for (int s = chain > 0 ? work.sums_end[chain - 1] : 0; s < work.sums_end[chain]; ++s) {
    int from = s > 0 ? work.sources_end[s - 1] : 0;
    const auto load = [&] {
      return *reinterpret_cast<const Pack<T, width>*>(static_cast<const T*>(work.source[from++]) + e);
    };
    Pack<T, width> sum = load();
    if (from < work.sources_end[s]) {
      typename UnitOf<T>::Value wide[width][k], more[k];
      for (int i = 0; i < width; ++i) UnitOf<T>::read(sum.element[i], wide[i]);
      while (from < work.sources_end[s]) {
        const Pack<T, width> next = load();
        for (int i = 0; i < width; ++i) {
          UnitOf<T>::read(next.element[i], more);
          for (int v = 0; v < k; ++v) wide[i][v] = combined<op>(wide[i][v], more[v]);
          if constexpr (is_short<T>)
            if (!work.once) UnitOf<T>::read(UnitOf<T>::of(wide[i]), wide[i]);
        }
      }
      for (int i = 0; i < width; ++i) sum.element[i] = UnitOf<T>::of(wide[i]);
    }
    if constexpr (op == Combination::Sum && k == 1)
      if (divisor > 1)
        for (int i = 0; i < width; ++i) sum.element[i] = averaged(sum.element[i], divisor);
    if constexpr (!std::is_same_v<StepFunction, NoFunction>)
      if (work.index[s] >= 0)
        for (int i = 0; i < width; ++i)
          sum.element[i] = finished(work, sum.element[i], work.index[s] + e + i);
    *reinterpret_cast<Pack<T, width>*>(static_cast<T*>(work.dst[s]) + e) = sum;
  }
}

// Row y of the grid does chain y.
template <typename T, Combination op>
__global__ void __launch_bounds__(kThreads)
    local_work_kernel(const __grid_constant__ LocalWork work, const int divisor) {
  constexpr int width = sizeof(T) < 16 ? 16 / sizeof(T) : 1;
  const int chain = static_cast<int>(blockIdx.y);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t n = work.elements[chain], packed = work.aligned[chain] ? n / width * width : 0;
  for (std::int64_t e = first * width; e < packed; e += stride * width)
    add_up<T, op, width>(work, chain, e, divisor);
  for (std::int64_t e = packed + first; e < n; e += stride) add_up<T, op, 1>(work, chain, e, divisor);
}

using Kernel = void (*)(LocalWork, int);

template <typename T>
Kernel kernel_of(ncclRedOp_t op) {
  switch (op) {
    case ncclProd:
      return local_work_kernel<T, Combination::Prod>;
    case ncclMax:
      return local_work_kernel<T, Combination::Max>;
    case ncclMin:
      return local_work_kernel<T, Combination::Min>;
    default:
      return local_work_kernel<T, Combination::Sum>;
  }
}

Kernel kernel_of(ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
    case ncclInt8:
      return kernel_of<std::int8_t>(op);
    case ncclInt32:
      return kernel_of<std::int32_t>(op);
    case ncclUint32:
      return kernel_of<std::uint32_t>(op);
    case ncclInt64:
      return kernel_of<std::int64_t>(op);
    case ncclUint64:
      return kernel_of<std::uint64_t>(op);
    case ncclFloat16:
      return kernel_of<Float16>(op);
    case ncclBfloat16:
      return kernel_of<Bfloat16>(op);
    case ncclFloat32:
      return kernel_of<StepUnit>(op);
    case ncclFloat64:
      return kernel_of<double>(op);
    default:
      return kernel_of<std::uint8_t>(op);
  }
}

}  // namespace

cudaError_t launch_local_work(ncclDataType_t type, ncclRedOp_t op, const LocalWork& work, int divisor,
                              cudaStream_t stream) {
  if (work.chains == 0) return cudaSuccess;
  const std::int64_t longest = *std::max_element(work.elements, work.elements + work.chains);
  const std::int64_t blocks = (longest + 4 * kThreads - 1) / (4 * kThreads);
  cudaLaunchConfig_t config = {};
  config.gridDim =
      dim3(static_cast<unsigned>(std::min<std::int64_t>(std::max<std::int64_t>(blocks, 1), kMostBlocks)),
           static_cast<unsigned>(work.chains));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel_of(type, op), work, divisor);
}

cudaError_t load_local_work(ncclDataType_t type, ncclRedOp_t op) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, kernel_of(type, op));
}

}  // namespace chorale
