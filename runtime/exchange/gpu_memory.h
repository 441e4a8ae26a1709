// Memory of the current GPU, which is freed with its owner, and errors of CUDA as exceptions. Needs nvcc;
// C++17, and is copied into emitted programs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace chorale {

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

// cudaFree waits for all work of the GPU, some of which may wait for what this thread has yet to enqueue, if
// ranks share it: where this is set, memory of this thread is listed there, and freed later.
inline std::vector<void*>*& freed_later() {
  thread_local std::vector<void*>* memory = nullptr;
  return memory;
}
struct GpuFree {
  void operator()(void* memory) const {
    if (freed_later() != nullptr)
      freed_later()->push_back(memory);
    else
      cudaFree(memory);
  }
};
template <typename T>
using GpuMemory = std::unique_ptr<T[], GpuFree>;

// The results of host code are a row of a table that kernels read.
template <typename T>
GpuMemory<T> gpu_memory(std::int64_t elements) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(1, elements)) * sizeof(T)),
        "cudaMalloc");
  return GpuMemory<T>(memory);
}
template <typename T>
GpuMemory<T> gpu_table(const std::vector<T>& rows) {
  GpuMemory<T> memory = gpu_memory<T>(static_cast<std::int64_t>(rows.size()));
  if (!rows.empty())
    check(cudaMemcpy(memory.get(), rows.data(), rows.size() * sizeof(T), cudaMemcpyHostToDevice),
          "cudaMemcpy");
  return memory;
}

}  // namespace chorale
