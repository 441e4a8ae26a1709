// Ranks as threads, each with a device, a stream and a communicator, as a program over NCCL has them.
#pragma once

#include <nccl.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/exchange/gpu_memory.h"

namespace chorale {

inline void require(ncclResult_t code, const std::string& what) {
  if (code != ncclSuccess) throw std::runtime_error(what + ": " + ncclGetErrorString(code));
}
inline void require(cudaError_t code, const std::string& what) {
  if (code != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(code));
}

struct GpuRank {
  int rank = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

// Calls work for each rank in a thread of its own, which stands for a process; what is thrown there, by rank
// ("": nothing). Rank n has GPU gpus[n]; where none are named, they take turns.
inline std::vector<std::string> on_gpus(int ranks, const std::function<void(GpuRank&)>& work,
                                        const std::vector<int>& gpus = {}) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<std::string> thrown(ranks);
  std::vector<std::thread> threads;
  for (int n = 0; n < ranks; ++n)
    threads.emplace_back([&, n] {
      GpuRank mine{.rank = n};
      shim_process = n;
      try {
        require(cudaSetDevice(gpus.empty() ? n % 8 : gpus[n]), "cudaSetDevice");
        require(ncclCommInitRank(&mine.comm, ranks, id, n), "ncclCommInitRank");
        require(cudaStreamCreate(&mine.stream), "cudaStreamCreate");
        work(mine);
        require(cudaStreamSynchronize(mine.stream), "cudaStreamSynchronize");
      } catch (const std::exception& error) {
        thrown[n] = error.what();
      }
      if (mine.stream != nullptr) cudaStreamDestroy(mine.stream);
      if (mine.comm != nullptr) ncclCommDestroy(mine.comm);
    });
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

// Memory of a device.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes)
      : memory_(gpu_memory<std::byte>(static_cast<std::int64_t>(bytes))) {}
  std::byte* data() const { return memory_.get(); }

 private:
  GpuMemory<std::byte> memory_;
};

}  // namespace chorale
