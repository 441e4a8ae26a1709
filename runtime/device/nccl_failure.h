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
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  NcclFailure(const NcclFailure&) = delete;
  NcclFailure& operator=(const NcclFailure&) = delete;

  FailureName name = {};

  // Takes the name that the first rank passes; waits for it. All ranks call it on their current device.
  ncclResult_t learn(const NcclCalls& nccl, ncclComm_t comm, int rank, int ranks, const FailureName& first) {
    const Uncaptured uncaptured;
    if (data_ == nullptr && (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess ||
                             cudaMalloc(&data_, sizeof name) != cudaSuccess))
      return ncclUnhandledCudaError;
    if (rank == 0) name = first;
    if (cudaMemcpyAsync(data_, name.data(), sizeof name, cudaMemcpyHostToDevice, stream_) != cudaSuccess)
      return ncclUnhandledCudaError;
    NcclGroup group(nccl, comm, stream_);
    if (rank != 0) group.receive(data_, sizeof name, 0);
    for (int peer = 1; rank == 0 && peer < ranks; ++peer) group.send(data_, sizeof name, peer);
    if (const ncclResult_t result = group.end(); result != ncclSuccess) return result;
    const bool good =
        cudaMemcpyAsync(name.data(), data_, sizeof name, cudaMemcpyDeviceToHost, stream_) == cudaSuccess &&
        cudaStreamSynchronize(stream_) == cudaSuccess;
    return good ? ncclSuccess : ncclUnhandledCudaError;
  }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace chorale
