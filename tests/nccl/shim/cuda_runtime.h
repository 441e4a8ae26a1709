// The calls of the CUDA runtime that our host code makes, on the CPU: device memory is memory, a stream is a
// thread that does one thing after the other, a kernel is a loop over its threads. For tests on machines
// without a GPU; compiled instead of the real header. Behaviour that matters is kept: nothing waits that does
// not on a device, memory comes uninitialised (and poisoned), calls that a capture forbids fail.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#if __cplusplus >= 202002L
#include <barrier>
#endif

#define __host__
#define __device__
#define __global__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorUnknown = 999,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed,
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMemoryPoolsSupported = 115 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemAccessFlags { cudaMemAccessFlagsProtReadWrite = 3 };
struct cudaIpcMemHandle_t {
  char reserved[64];
};
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaMemPool_t = struct CUmemPool_st*;

struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemLocation location;
};
struct cudaDeviceProp {
  char name[256];
};
struct cudaFuncAttributes {
  int numRegs;
};
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

extern "C" {
// Of the ranks of this thread; a process waits for its own streams only.
extern thread_local int shim_process;
cudaError_t cudaGetDeviceCount(int* count);  // CHORALE_SHIM_DEVICES, or 8
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);  // not with CHORALE_SHIM_NO_PEERS
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);  // down with CHORALE_SHIM_BUS_DOWN
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int device);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t);

cudaError_t cudaFree(void*);
cudaError_t cudaMallocHost(void**, std::size_t bytes);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaMemPoolCreate(cudaMemPool_t*, const cudaMemPoolProps*);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t count);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t = nullptr);
cudaError_t cudaMemset(void*, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void*, int value, std::size_t bytes, cudaStream_t = nullptr);

cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags = 0);
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus*);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long flags = 0);

cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

// Ranks are threads of one process: a handle is an address.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*);
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned flags);

cudaError_t shim_malloc(void**, std::size_t bytes);
cudaError_t shim_malloc_async(void**, std::size_t bytes, cudaStream_t);
}

template <typename T>
cudaError_t cudaMalloc(T** at, std::size_t bytes) {
  return shim_malloc(reinterpret_cast<void**>(at), bytes);
}
template <typename T>
cudaError_t cudaMallocAsync(T** at, std::size_t bytes, cudaStream_t stream) {
  return shim_malloc_async(reinterpret_cast<void**>(at), bytes, stream);
}
template <typename T>
cudaError_t cudaMallocFromPoolAsync(T** at, std::size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  return shim_malloc_async(reinterpret_cast<void**>(at), bytes, stream);
}

// What a stream does; returns cudaSuccess, or the stream is broken from then on.
using ShimTask = std::function<cudaError_t()>;
cudaError_t shim_enqueue(cudaStream_t, ShimTask);
bool shim_is_here(cudaStream_t);  // on the current device

inline thread_local uint3 blockIdx, threadIdx;
inline thread_local dim3 gridDim, blockDim;

// Blocks have at most three threads here, which do not run side by side: for kernels without barriers that
// take their strides from blockDim.
template <typename... Expected, typename... Actual>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...),
                               Actual... args) {
  const dim3 grid = config->gridDim, block(config->blockDim.x < 3 ? config->blockDim.x : 3);
  if (grid.x == 0 || grid.y == 0 || grid.y > 65535 || config->blockDim.x == 0 || config->blockDim.x > 1024)
    return cudaErrorInvalidValue;
  if (!shim_is_here(config->stream)) return cudaErrorInvalidDevice;
  return shim_enqueue(config->stream, [=] {
    gridDim = grid, blockDim = block;
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) kernel(args...);
    return cudaSuccess;
  });
}

#if __cplusplus >= 202002L  // programs that launch like that are C++20

// A thread block whose threads do run side by side.
class ShimBlock {
 public:
  explicit ShimBlock(unsigned threads) : barrier_(static_cast<std::ptrdiff_t>(threads)) {}
  // Is it true in all threads?
  bool all(bool mine) {
    if (!mine) bad_ = true;
    barrier_.arrive_and_wait();
    const bool result = !bad_;
    barrier_.arrive_and_wait();
    bad_ = false;  // by all, before any comes here again
    barrier_.arrive_and_wait();
    return result;
  }

 private:
  std::barrier<> barrier_;
  std::atomic<bool> bad_ = false;
};
inline thread_local ShimBlock* shim_block = nullptr;
inline int __syncthreads_and(int mine) {
  return shim_block->all(mine != 0);
}

// All blocks side by side, with the threads that they have, at most three. Arguments are taken at once, as a
// launch takes them.
template <typename... Arguments>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Arguments...), dim3 grid, dim3 wanted,
                                        void** arguments, std::size_t, cudaStream_t stream) {
  if (grid.x == 0 || wanted.x == 0 || wanted.x > 1024) return cudaErrorInvalidValue;
  if (!shim_is_here(stream)) return cudaErrorInvalidDevice;
  const dim3 block(wanted.x < 3 ? wanted.x : 3);
  const auto taken = [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::tuple(*static_cast<std::remove_cvref_t<Arguments>*>(arguments[i])...);
  }
  (std::index_sequence_for<Arguments...>{});
  return shim_enqueue(stream, [=] {
    std::vector<std::unique_ptr<ShimBlock>> blocks;
    std::vector<std::thread> threads;
    for (unsigned b = 0; b < grid.x; ++b) {
      blocks.push_back(std::make_unique<ShimBlock>(block.x));
      for (unsigned t = 0; t < block.x; ++t)
        threads.emplace_back([&, b, t, mine = blocks.back().get()] {
          gridDim = grid, blockDim = block, blockIdx = {b, 0, 0}, threadIdx = {t, 0, 0};
          shim_block = mine;
          std::apply(kernel, taken);
        });
    }
    for (std::thread& thread : threads) thread.join();
    return cudaSuccess;
  });
}

#endif

template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int, std::size_t) {
  *blocks = 2;
  return cudaSuccess;
}

template <typename Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel*) {
  attributes->numRegs = 1;
  return cudaSuccess;
}
