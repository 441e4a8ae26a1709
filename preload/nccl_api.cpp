// libchorale-nccl: the C interface over NCCL. Ranks do not compare what they have loaded here: that is for
// unmodified programs (preload/nccl_preload.cpp).
#include <chorale/nccl.h>

#include "preload/nccl_collectives.h"
#include "preload/nccl_entries.h"

namespace chorale {
namespace {

// No all_gather: fingerprints and hosts are not exchanged, so calls may be captured from the first one on.
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

// What could be read is loaded even where something else could not: the message names what is missing.
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

#define CHORALE_CALLED(nccl, name, kind, parameters, arguments, ...)                              \
  CHORALE_EXPORT ncclResult_t name parameters {                                                   \
    return run({#name, CollectiveKind::kind, send, recv, count, type, comm, stream, __VA_ARGS__}, \
               [&] { return nccl arguments; });                                                   \
  }
CHORALE_NCCL_COLLECTIVES(CHORALE_CALLED)
// With an older NCCL the function exists all the same, for algorithms of ours.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
CHORALE_NCCL_ALLTOALL(CHORALE_CALLED)
#else
CHORALE_EXPORT ncclResult_t chorale_alltoall(const void* send, void* recv, size_t count, ncclDataType_t type,
                                             ncclComm_t comm, cudaStream_t stream) {
  return run({"chorale_alltoall", CollectiveKind::Alltoall, send, recv, count, type, comm, stream}, [] {
    NcclCollectives::last_error() = "this NCCL has no ncclAlltoAll, and no algorithm was loaded that fits";
    return ncclInvalidUsage;
  });
}
#endif
