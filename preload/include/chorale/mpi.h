/* MPI's collectives by algorithms that Chorale has found, or by baselines: libchorale-mpi.
 *
 *   chorale_mpi_load("results/");
 *   chorale_mpi_allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, comm);
 *
 * Each function has the signature, the meaning and the result of MPI's (MPI_IN_PLACE too), and may be
 * called instead of it by all ranks of the communicator. Where no algorithm fits (another number of ranks,
 * an operation or type of one's own, between groups, a rank without the memory for it) MPI's own does it.
 * All ranks get the same bits. Sums are added in another order than MPI's, so these may differ from its in
 * the last bits.
 *
 * Functions return MPI_SUCCESS or an error code of MPI; they call no error handler for errors of their own.
 * Under MPI_THREAD_MULTIPLE several threads may call collectives at once, each on a communicator of its
 * own, as with MPI's; no other function of this header is called during chorale_mpi_load. */
#ifndef CHORALE_MPI_H
#define CHORALE_MPI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the algorithms of a library, of a result file, or of all *.json of a directory; several paths are
 * separated by colons. All ranks of MPI_COMM_WORLD call it after MPI_Init, and must find the same there;
 * otherwise, or if something cannot be read, nothing is added in any rank: MPI_ERR_FILE (MPI_ERR_ARG
 * without a path, MPI_ERR_OTHER outside of MPI_Init and MPI_Finalize). */
int chorale_mpi_load(const char* path);

/* What has failed of the machine, as 'chorale library build --failures 1' names it: "link 0-1", "rank 3"; NULL
 * or "": nothing. All ranks of MPI_COMM_WORLD call it with the same name (else MPI_ERR_ARG). From the next
 * collective on the algorithms of a library for the machine after that failure are used, with ranks as the
 * machine numbers them; where there are none, MPI's own. Of a rank that failed the program makes a
 * communicator of the others, in their order. With CHORALE_FAILED=FILE in the environment the first rank of a
 * communicator reads the name at each collective from the first line of that file, with CHORALE_FAILED_SIGNAL=USR1
 * (or USR2) after that signal alone. */
int chorale_mpi_failed(const char* what);

int chorale_mpi_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm);
int chorale_mpi_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int chorale_mpi_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                     MPI_Op op, MPI_Comm comm);
int chorale_mpi_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm);
int chorale_mpi_reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int chorale_mpi_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
/* Planned when it is called, by the counts of all ranks, where the environment variable CHORALE_NODES has the
 * rates of nodes and their NICs, the same in all ranks: "nics=8,nic=50,node=450,latency=5" (NICs of a node,
 * one per rank where that is left out; GB/s of a NIC, and of a rank within its node; microseconds of a step).
 * No algorithms are needed. What a node has for another is spread over the NICs of both. */
int chorale_mpi_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                          MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                          MPI_Datatype recvtype, MPI_Comm comm);
int chorale_mpi_bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int chorale_mpi_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                       int root, MPI_Comm comm);

/* What went wrong in the last function above that returned an error in this thread and was not MPI's own; ""
 * before. Valid until the next one. */
const char* chorale_mpi_last_error(void);

/* Which algorithm the last collective of this thread used, by file and point; "" if it was MPI's own. */
const char* chorale_mpi_last_algorithm(void);
/* Why the last collective was MPI's own; "" if it was not. */
const char* chorale_mpi_why_not(void);

#ifdef __cplusplus
}
#endif

#endif
