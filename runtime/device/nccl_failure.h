// What has failed of the machine, as the first rank of a communicator knows it, in all of its ranks from the
// same call on.
//
// Host code in C++17; it is also copied into emitted programs.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include "runtime/device/failure_file.h"
#include "runtime/device/nccl_call.h"

namespace chorale {

// Of a communicator, which one thread at a time uses.
class NcclFailure {
 public:
  NcclFailure() = default;
  ~NcclFailure() {
    if (data_ != nullptr) cudaFree(data_);
  }
  NcclFailure(const NcclFailure&) = delete;
  NcclFailure& operator=(const NcclFailure&) = delete;

  FailureName name = {};

  // Takes the name that the first rank passes; waits for it, on the stream of the call, after what it sent
  // before. All ranks call it on their current device.
  ncclResult_t learn(const NcclCalls& nccl, ncclComm_t comm, cudaStream_t stream, int rank, int ranks,
                     const FailureName& first) {
    const Uncaptured uncaptured;
    if (data_ == nullptr && cudaMalloc(&data_, sizeof name) != cudaSuccess) return ncclUnhandledCudaError;
    if (rank == 0) name = first;
    if (cudaMemcpyAsync(data_, name.data(), sizeof name, cudaMemcpyHostToDevice, stream) != cudaSuccess)
      return ncclUnhandledCudaError;
    NcclGroup group(nccl, comm, stream);
    if (rank != 0) group.receive(data_, sizeof name, 0);
    for (int peer = 1; rank == 0 && peer < ranks; ++peer) group.send(data_, sizeof name, peer);
    if (const ncclResult_t result = group.end(); result != ncclSuccess) return result;
    const bool good =
        cudaMemcpyAsync(name.data(), data_, sizeof name, cudaMemcpyDeviceToHost, stream) == cudaSuccess &&
        cudaStreamSynchronize(stream) == cudaSuccess;
    return good ? ncclSuccess : ncclUnhandledCudaError;
  }

 private:
  void* data_ = nullptr;
};

}  // namespace chorale
