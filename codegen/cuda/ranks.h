// What the programs with a process a GPU share: errors that end all of them, and a main around their work.
#pragma once

#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "options.h"

[[noreturn]] inline void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}
inline void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}
inline void require(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) fail(what, ncclGetErrorString(result));
}

// Of NCCL's device API, nothing asked for yet.
inline ncclDevCommRequirements no_requirements() {
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
  ncclDevCommRequirements requirements = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
  ncclDevCommRequirements requirements;
  std::memset(&requirements, 0, sizeof requirements);
#endif
  return requirements;
}

// Calls measure(rank, comm, options) in each of so many ranks; the ranks of a node take its GPUs in turn.
template <typename Measure>
int on_ranks(int needed, int argc, char** argv, Measure measure) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, local = 0, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options = read_options(argc, argv);
  if (options.slices == 0) options.slices = 16;
  if (options.threads == 0) options.threads = 512;
  if (ranks != needed) {
    if (rank == 0) std::fprintf(stderr, "needs %d ranks: mpirun -n %d\n", needed, needed);
    MPI_Finalize();
    return 2;
  }
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  MPI_Comm_free(&node);
  require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  require(cudaSetDevice(local % devices), "cudaSetDevice");
  ncclUniqueId id;
  if (rank == 0) require(ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm = nullptr;
  require(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
  measure(rank, comm, options);
  require(ncclCommDestroy(comm), "ncclCommDestroy");
  MPI_Finalize();
  return 0;
}
