// The messages of a step as one group of NCCL's sends and receives, of collectives and of workloads.
// Everything is enqueued on the stream and nothing waits, so it can be captured into a graph. Messages are
// bytes, so that there is one path for all types: NCCL moves and never adds.
//
// Host code in C++17; it is also copied into emitted programs.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace chorale {

// NCCL's own functions: a library that replaces some of them passes the originals.
struct NcclCalls {
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
};
// Those of the NCCL that this is linked with.
inline NcclCalls linked_nccl() {
  return {ncclGroupStart, ncclGroupEnd, ncclSend, ncclRecv, ncclCommGetAsyncError, ncclGetErrorString};
}

// Whether NCCL, from 2.30 on, lets several ranks have the same GPU.
inline bool ranks_may_share() {
  const char* const value = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return value != nullptr && std::string(value) == "1";
}

// Why a process with `devices` GPUs cannot have a thread for each of `ranks` ranks; "": it can. With fewer
// GPUs than ranks, rank n has GPU n % devices.
//
// The kernels of ranks on one GPU wait for each other, so none of these may call what waits for all work of
// the GPU (cudaFree, and cudaMemcpy beside streams that block) before the others have finished.
inline std::string too_few_gpus(int devices, int ranks) {
  if (devices >= ranks || (devices > 0 && ranks_may_share())) return "";
  return "needs " + std::to_string(ranks) + " GPUs in this machine, found " + std::to_string(devices) +
         (devices > 0 ? "; ranks share them with NCCL 2.30 or later and NCCL_MULTI_RANK_GPU_ENABLE=1" : "");
}

class NcclGroup {
 public:
  NcclGroup(const NcclCalls& nccl, ncclComm_t comm, cudaStream_t stream)
      : nccl_(nccl), comm_(comm), stream_(stream) {
    note(nccl_.group_start(), "ncclGroupStart");
    open_ = code_ == ncclSuccess;
  }
  // After a failure no more messages are started.
  void receive(void* data, std::int64_t bytes, int peer) {
    if (code_ == ncclSuccess)
      note(nccl_.recv(data, static_cast<std::size_t>(bytes), ncclInt8, peer, comm_, stream_),
           "ncclRecv from rank " + std::to_string(peer));
  }
  void send(const void* data, std::int64_t bytes, int peer) {
    if (code_ == ncclSuccess)
      note(nccl_.send(data, static_cast<std::size_t>(bytes), ncclInt8, peer, comm_, stream_),
           "ncclSend to rank " + std::to_string(peer));
  }
  // A group that was begun is ended even after an error, or the next one of this thread would be part of it.
  // The first error is the one that counts.
  ncclResult_t end() {
    if (!open_) return code_;
    ncclResult_t end = nccl_.group_end();
    while (end == ncclInProgress)  // a communicator that does not block
      if (nccl_.async_error(comm_, &end) != ncclSuccess) break;
    note(end, "ncclGroupEnd");
    return code_;
  }
  // "ncclSend to rank 4", if that failed.
  const std::string& failed() const { return failed_; }

 private:
  void note(ncclResult_t code, const std::string& what) {
    if (code == ncclSuccess || code_ != ncclSuccess) return;
    code_ = code;
    failed_ = what;
  }

  const NcclCalls& nccl_;
  const ncclComm_t comm_;
  const cudaStream_t stream_;
  bool open_ = false;
  ncclResult_t code_ = ncclSuccess;
  std::string failed_ = {};
};

}  // namespace chorale
