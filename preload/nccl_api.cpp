// libchorale-nccl: the C interface over NCCL. Ranks do not compare what they have loaded here: that is for
// unmodified programs (preload/nccl_preload.cpp).
#include <chorale/nccl.h>

#include "preload/nccl_collectives.h"
#include "preload/nccl_settings.h"

#define CHORALE_EXPORT extern "C" __attribute__((visibility("default")))

namespace chorale {
namespace {

NcclCollectives& here() {
  static NcclCollectives collectives({.steps = linked_nccl(),
                                      .count = ncclCommCount,
                                      .user_rank = ncclCommUserRank,
                                      .device = ncclCommCuDevice},
                                     nccl_settings());
  return collectives;
}

// Nothing may be thrown through C.
template <typename Work>
ncclResult_t guarded(Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    NcclCollectives::last_error() = error.what();
    return ncclInternalError;
  }
}

// By an algorithm of ours, else by NCCL.
template <typename Nccl>
ncclResult_t run(const NcclCall& call, Nccl nccl) {
  return guarded([&] {
    const auto result = here().run(call);
    return result ? *result : nccl();
  });
}

}  // namespace
}  // namespace chorale

using namespace chorale;

CHORALE_EXPORT ncclResult_t chorale_nccl_load(const char* path) {
  return guarded([&] {
    const std::string complaints = here().load(path != nullptr ? path : "");
    if (complaints.empty()) return ncclSuccess;
    NcclCollectives::last_error() = complaints;
    return ncclInvalidArgument;
  });
}

CHORALE_EXPORT ncclResult_t chorale_nccl_failed(ncclComm_t comm, const char* what) {
  return guarded([&] {
    here().set_failure(comm, what != nullptr ? what : "");
    return ncclSuccess;
  });
}

CHORALE_EXPORT const char* chorale_nccl_last_error() {
  return NcclCollectives::last_error().c_str();
}

CHORALE_EXPORT ncclResult_t chorale_allreduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                                              ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return run({"chorale_allreduce", CollectiveKind::AllReduce, send, recv, count, type, comm, stream, 0, op},
             [&] { return ncclAllReduce(send, recv, count, type, op, comm, stream); });
}

CHORALE_EXPORT ncclResult_t chorale_reduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                                           ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return run({"chorale_reduce", CollectiveKind::Reduce, send, recv, count, type, comm, stream, root, op},
             [&] { return ncclReduce(send, recv, count, type, op, root, comm, stream); });
}

CHORALE_EXPORT ncclResult_t chorale_broadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                                              int root, ncclComm_t comm, cudaStream_t stream) {
  return run({"chorale_broadcast", CollectiveKind::Broadcast, send, recv, count, type, comm, stream, root},
             [&] { return ncclBroadcast(send, recv, count, type, root, comm, stream); });
}

CHORALE_EXPORT ncclResult_t chorale_allgather(const void* send, void* recv, size_t send_count,
                                              ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return run({"chorale_allgather", CollectiveKind::Allgather, send, recv, send_count, type, comm, stream},
             [&] { return ncclAllGather(send, recv, send_count, type, comm, stream); });
}

CHORALE_EXPORT ncclResult_t chorale_reducescatter(const void* send, void* recv, size_t recv_count,
                                                  ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                                  cudaStream_t stream) {
  return run({"chorale_reducescatter", CollectiveKind::ReduceScatter, send, recv, recv_count, type, comm,
              stream, 0, op},
             [&] { return ncclReduceScatter(send, recv, recv_count, type, op, comm, stream); });
}

CHORALE_EXPORT ncclResult_t chorale_alltoall(const void* send, void* recv, size_t count, ncclDataType_t type,
                                             ncclComm_t comm, cudaStream_t stream) {
  const NcclCall call{"chorale_alltoall", CollectiveKind::Alltoall, send, recv, count, type, comm, stream};
  return run(call, [&] {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
    return ncclAlltoAll(send, recv, count, type, comm, stream);
#else
    NcclCollectives::last_error() = "this NCCL has no ncclAlltoAll, and no algorithm was loaded that fits";
    return ncclInvalidUsage;
#endif
  });
}
