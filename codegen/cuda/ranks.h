// What the programs with one process per GPU share: errors that end all of them, numbers of all of them, and
// a main around their work.
#pragma once

#define OMPI_SKIP_MPICXX 1  // C++ interfaces that MPI 3 removed: they have names of ours, as IN_PLACE
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpu_calls.h"
#include "options.h"
#include "runtime/device/self_check.h"

inline void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}
inline void require(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) fail(what, ncclGetErrorString(result));
}

inline double slowest(double us) {
  MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return us;
}
// Elements; of the seed kRounding, slots whose ranks differ. Values are what this rank has.
template <typename Values, typename Checked>
long wrong_of_all_ranks(const Values& values, const Checked& expected, unsigned seed) {
  if (seed == chorale::kRounding) {
    std::vector<std::uint64_t> hashes;
    values.add_hashes(expected, hashes);
    MPI_Allreduce(MPI_IN_PLACE, hashes.data(), static_cast<int>(hashes.size()), MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);  // all but one are 0
    return expected.disagreements(hashes);
  }
  long wrong = values.wrong(expected, seed);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

// Requirements of NCCL's device API, all at zero.
inline ncclDevCommRequirements no_requirements() {
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
  ncclDevCommRequirements requirements = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
  ncclDevCommRequirements requirements;
  std::memset(&requirements, 0, sizeof requirements);
#endif
  return requirements;
}

// Calls measure(rank, comm, options) in each of `needed` ranks; GPUs of a node are assigned to its ranks
// round-robin. measure returns the number of wrong elements of all ranks. Exit code 0 if there are none, 1 if
// there are, 2 if the program cannot run.
template <typename Measure>
int on_ranks(int needed, int argc, char** argv, Measure measure) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, local = 0, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Options options = read_options(argc, argv);
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
  const long wrong = measure(rank, comm, options);
  if (wrong > 0 && rank == 0) std::fprintf(stderr, "%ld wrong elements\n", wrong);
  require(ncclCommDestroy(comm), "ncclCommDestroy");
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
