// NCCL's collectives that NcclCollectives does, one row each: NCCL's name, that of the C interface, the kind,
// parameters, arguments, and what of an NcclCall not all have: root, operation. Both libraries define their
// functions by it; ROW(nccl, ours, kind, parameters, arguments, root and operation).
#pragma once

#include <nccl.h>

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
