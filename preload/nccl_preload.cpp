// LD_PRELOAD=libchorale-nccl-preload.so: ncclAllReduce, ncclReduce, ncclBroadcast (and ncclBcast),
// ncclAllGather, ncclReduceScatter and ncclAlltoAll of an unmodified program by algorithms of ours, where
// there is one for the communicator's size, hosts and GPUs; else NCCL's own. preload/nccl_entries.h lists
// the environment variables.
//
// What stands between ncclGroupStart and ncclGroupEnd is NCCL's: steps of ours are groups themselves, and
// what follows them on the stream must not be enqueued before the program's group ends. So groups are
// counted. Communicators are known by their address, so the destruction of one has to be intercepted.
#include <dlfcn.h>
#include <nccl.h>

#include <cstdio>

#include "preload/nccl_collectives.h"
#include "preload/nccl_entries.h"

namespace chorale {
namespace {

thread_local int group_depth = 0;

// From the start, since the signal may come before the first call.
[[maybe_unused]] const bool listens = FailureSignal::listen(nccl_settings().failure_signal);

// NCCL's own function of this name. It may have been loaded by a plugin, in which case only the library
// itself has it.
void* own(const char* name) {
  if (void* const next = dlsym(RTLD_NEXT, name)) return next;
  static void* const library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? dlsym(library, name) : nullptr;
}

template <typename Function>
Function* own(Function*, const char* name) {
  return reinterpret_cast<Function*>(own(name));
}

#define CHORALE_OWN(name) own(&name, #name)

NcclCollectives& here() {
  static NcclCollectives collectives({.steps = {.group_start = CHORALE_OWN(ncclGroupStart),
                                                .group_end = CHORALE_OWN(ncclGroupEnd),
                                                .send = CHORALE_OWN(ncclSend),
                                                .recv = CHORALE_OWN(ncclRecv),
                                                .async_error = CHORALE_OWN(ncclCommGetAsyncError),
                                                .error_string = CHORALE_OWN(ncclGetErrorString)},
                                      .count = CHORALE_OWN(ncclCommCount),
                                      .user_rank = CHORALE_OWN(ncclCommUserRank),
                                      .device = CHORALE_OWN(ncclCommCuDevice),
                                      .all_gather = CHORALE_OWN(ncclAllGather)},
                                     nccl_settings());
  return collectives;
}

// Nothing may be thrown through C.
template <typename Work>
ncclResult_t guarded(Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "chorale: %s\n", error.what());
    return ncclInternalError;
  }
}

// By an algorithm of ours, else by NCCL's function with the same arguments.
template <typename Nccl>
ncclResult_t run(const NcclCall& call, Nccl nccl) {
  return guarded([&] {
    if (group_depth > 0) {
      if (call.comm != nullptr && call.count > 0) here().pass(call, "it is in a group");
      return nccl();
    }
    const auto result = here().run(call);
    if (!result) return nccl();
    if (*result != ncclSuccess) std::fprintf(stderr, "chorale: %s\n", NcclCollectives::last_error().c_str());
    return *result;
  });
}

}  // namespace
}  // namespace chorale

using namespace chorale;

// A group that NCCL refused to begin is none.
CHORALE_EXPORT ncclResult_t ncclGroupStart() {
  const ncclResult_t result = CHORALE_OWN(ncclGroupStart)();
  group_depth += result == ncclSuccess;
  return result;
}

CHORALE_EXPORT ncclResult_t ncclGroupEnd() {
  group_depth -= group_depth > 0;
  return CHORALE_OWN(ncclGroupEnd)();
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 22, 0)
CHORALE_EXPORT ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  group_depth -= group_depth > 0;
  return CHORALE_OWN(ncclGroupSimulateEnd)(info);
}
#endif

CHORALE_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  here().forget(comm);
  return CHORALE_OWN(ncclCommDestroy)(comm);
}

// As ncclCommDestroy: its address may be that of another communicator next.
CHORALE_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) {
  here().forget(comm);
  return CHORALE_OWN(ncclCommAbort)(comm);
}

#define CHORALE_PRELOADED(nccl, name, kind, parameters, arguments, ...)                           \
  CHORALE_EXPORT ncclResult_t nccl parameters {                                                   \
    return run({#nccl, CollectiveKind::kind, send, recv, count, type, comm, stream, __VA_ARGS__}, \
               [&] { return CHORALE_OWN(nccl) arguments; });                                      \
  }
CHORALE_NCCL_COLLECTIVES(CHORALE_PRELOADED)
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
CHORALE_NCCL_ALLTOALL(CHORALE_PRELOADED)
#endif

// In place by definition; through our own ncclBroadcast, so that it is counted and served as that.
CHORALE_EXPORT ncclResult_t ncclBcast(void* data, size_t count, ncclDataType_t type, int root,
                                      ncclComm_t comm, cudaStream_t stream) {
  return ncclBroadcast(data, data, count, type, root, comm, stream);
}
