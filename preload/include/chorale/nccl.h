/* Collectives of NCCL's shape by algorithms that Chorale found: libchorale-nccl. C and C++.
 *
 * Arguments, types, in-place calls, streams and results are those of the NCCL function of the same name;
 * buffers are on the device, and the call returns when everything is enqueued. Where no loaded algorithm
 * fits (another number of ranks, an own operation, ...) NCCL's own function does it; CHORALE_LOG=1 in the
 * environment prints that once for each kind of call, and which algorithm was used otherwise. Calls can be
 * captured into CUDA graphs. They must not stand between ncclGroupStart and ncclGroupEnd: what follows a
 * group of an algorithm would be enqueued before it.
 *
 * All ranks must load the same files before the first call, and make the same calls. Sums are added in
 * another order than NCCL's. An average is the sum, divided at the end.
 *
 * CHORALE_CHECK=SECONDS waits after each step of each call, and a step that does not end in time becomes an
 * error that names rank, step and peers: for finding out what hangs, not for speed.
 */
#ifndef CHORALE_NCCL_H
#define CHORALE_NCCL_H

#include <nccl.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Result files of chorale, or directories of them, separated by colons; the algorithms of an earlier call are
 * not used any more. Without a call, those of CHORALE_ALGORITHMS are loaded. ncclInvalidArgument: something
 * could not be read; the rest is loaded. */
ncclResult_t chorale_nccl_load(const char* path);

/* What has failed of the machine, as 'chorale library build --failures 1' names it: "link 0-1", "rank 3"; NULL
 * or "": nothing. Each rank calls it for its communicator, all between the same two collectives. From the next
 * one on the algorithms of a library for the machine after that failure are used, with ranks as the machine
 * numbers them; where there are none, NCCL's own. After the failure of a rank the program makes a communicator
 * of the others, in their order. With CHORALE_FAILED=FILE in the environment the first rank of a communicator
 * reads the name from the first line of that file and sends it to the others at each collective, which waits for
 * that (a captured one does neither). Graphs that were captured before stay as they are. */
ncclResult_t chorale_nccl_failed(ncclComm_t comm, const char* what);

/* The last error of this thread, with rank, step and peer; "" if there was none. Valid until the next call. */
const char* chorale_nccl_last_error(void);

ncclResult_t chorale_allreduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t chorale_reduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                            int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t chorale_broadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                               ncclComm_t comm, cudaStream_t stream);
/* send_count: of one rank; recv has that many from each. */
ncclResult_t chorale_allgather(const void* send, void* recv, size_t send_count, ncclDataType_t type,
                               ncclComm_t comm, cudaStream_t stream);
/* recv_count: of one rank; send has that many for each. */
ncclResult_t chorale_reducescatter(const void* send, void* recv, size_t recv_count, ncclDataType_t type,
                                   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
/* count: from each rank to each rank. */
ncclResult_t chorale_alltoall(const void* send, void* recv, size_t count, ncclDataType_t type,
                              ncclComm_t comm, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
