// NCCL's collectives that NcclCollectives does, one row each: NCCL's name, that of the C interface, the kind,
// parameters, arguments, and what of an NcclCall not all have: root, operation. Both libraries define their
// functions by it; ROW(nccl, ours, kind, parameters, arguments, root and operation).
//
// Environment variables of the libraries over NCCL:
//
//   CHORALE_ALGORITHMS   libraries, result files, or directories of these, separated by colons
//   CHORALE_HOST         the host of this process, if its name does not identify it: the same for those of
//                        one host
//   CHORALE_ORDER=fixed  sums by algorithms of one fixed order alone (frontier --order): the same bits for
//                        each size and run
//   CHORALE_FAILED       a file whose first line names what has failed of the machine ("link 0-1"): from the
//                        next call that is not captured on, algorithms of a library for the machine after
//                        that failure are used ('chorale library build --failures 1')
//   CHORALE_FAILED_SIGNAL=USR1  that file is read after this signal alone (or USR2)
//   CHORALE_LOG=1        prints on standard error, once for each kind of call, the algorithm that was used,
//                        or the reason for none
//   CHORALE_CHECK=30     waits after each step, at most that many seconds, and reports the rank, step and
//                        peers that hang
#pragma once

#include <nccl.h>

#include <cstdlib>
#include <string>

#include "preload/nccl_collectives.h"

namespace chorale {

inline NcclSettings nccl_settings() {
  const std::string log = variable("CHORALE_LOG");
  return {.algorithms = variable("CHORALE_ALGORITHMS"),
          .log = !log.empty() && log != "0",
          .check = std::chrono::milliseconds(
              static_cast<long>(1000 * std::atof(variable("CHORALE_CHECK").c_str()))),
          .host = variable("CHORALE_HOST"),
          .order = variable("CHORALE_ORDER"),
          .failure_file = variable("CHORALE_FAILED"),
          .failure_signal = variable("CHORALE_FAILED_SIGNAL")};
}

}  // namespace chorale

#define CHORALE_EXPORT extern "C" __attribute__((visibility("default")))

#define CHORALE_NCCL_COLLECTIVES(ROW)                                                                    \
  ROW(ncclAllReduce, chorale_allreduce, AllReduce,                                                       \
      (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, \
       cudaStream_t stream),                                                                             \
      (send, recv, count, type, op, comm, stream), 0, op)                                                \
  ROW(ncclReduce, chorale_reduce, Reduce,                                                                \
      (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,        \
       ncclComm_t comm, cudaStream_t stream),                                                            \
      (send, recv, count, type, op, root, comm, stream), root, op)                                       \
  ROW(ncclReduceScatter, chorale_reducescatter, ReduceScatter,                                           \
      (const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, \
       cudaStream_t stream),                                                                             \
      (send, recv, count, type, op, comm, stream), 0, op)                                                \
  ROW(ncclBroadcast, chorale_broadcast, Broadcast,                                                       \
      (const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,       \
       cudaStream_t stream),                                                                             \
      (send, recv, count, type, root, comm, stream), root)                                               \
  ROW(ncclAllGather, chorale_allgather, Allgather,                                                       \
      (const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,                 \
       cudaStream_t stream),                                                                             \
      (send, recv, count, type, comm, stream), 0)

// Not before NCCL 2.28.
#define CHORALE_NCCL_ALLTOALL(ROW)                                                       \
  ROW(ncclAlltoAll, chorale_alltoall, Alltoall,                                          \
      (const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm, \
       cudaStream_t stream),                                                             \
      (send, recv, count, type, comm, stream), 0)
