// The calls of MPI that emitted programs with a process a GPU make, with threads for processes: compiled
// instead of the real header, into one source file, whose main() each of CHORALE_SHIM_RANKS threads calls.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "nccl_device.h"

enum MPI_Comm { MPI_COMM_WORLD, MPI_COMM_NODE };
enum MPI_Datatype { MPI_BYTE = 1, MPI_INT, MPI_LONG, MPI_UINT64_T, MPI_DOUBLE };
enum MPI_Op { MPI_SUM, MPI_MAX, MPI_MIN };
enum MPI_Info { MPI_INFO_NULL };
constexpr int MPI_COMM_TYPE_SHARED = 1;
inline void* const MPI_IN_PLACE = nullptr;

inline thread_local int shim_mpi_rank = 0;
inline int shim_mpi_ranks = 1;
inline std::unique_ptr<std::barrier<>> shim_mpi_meeting;
inline char shim_mpi_mail[256];

inline int MPI_Init(int*, char***) {
  return 0;
}
inline int MPI_Finalize() {
  return 0;
}
inline int MPI_Barrier(MPI_Comm) {
  shim_mpi_meeting->arrive_and_wait();
  return 0;
}
inline int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  *rank = comm == MPI_COMM_NODE ? shim_mpi_rank % shim_node(shim_mpi_ranks) : shim_mpi_rank;
  return 0;
}
inline int MPI_Comm_size(MPI_Comm, int* ranks) {
  *ranks = shim_mpi_ranks;
  return 0;
}
inline int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm* node) {
  *node = MPI_COMM_NODE;
  return 0;
}
inline int MPI_Comm_free(MPI_Comm*) {
  return 0;
}
inline int MPI_Bcast(void* data, int bytes, MPI_Datatype, int root, MPI_Comm comm) {
  if (shim_mpi_rank == root) std::memcpy(shim_mpi_mail, data, static_cast<std::size_t>(bytes));
  MPI_Barrier(comm);
  std::memcpy(data, shim_mpi_mail, static_cast<std::size_t>(bytes));
  return MPI_Barrier(comm);
}
// In place.
template <typename T>
int MPI_Allreduce(void*, T* numbers, int count, MPI_Datatype, MPI_Op op, MPI_Comm comm) {
  static std::vector<std::vector<T>> all(static_cast<std::size_t>(shim_mpi_ranks));
  all[static_cast<std::size_t>(shim_mpi_rank)].assign(numbers, numbers + count);
  MPI_Barrier(comm);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    for (std::size_t n = 0; n < all.size(); ++n)
      numbers[i] = n == 0          ? all[n][i]
                   : op == MPI_SUM ? numbers[i] + all[n][i]
                   : op == MPI_MAX ? std::max(numbers[i], all[n][i])
                                   : std::min(numbers[i], all[n][i]);
  return MPI_Barrier(comm);
}
[[noreturn]] inline int MPI_Abort(MPI_Comm, int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

int shim_main(int argc, char** argv);

int main(int argc, char** argv) {
  const char* const ranks = std::getenv("CHORALE_SHIM_RANKS");
  shim_mpi_ranks = ranks != nullptr ? std::atoi(ranks) : 1;
  shim_mpi_meeting = std::make_unique<std::barrier<>>(shim_mpi_ranks);
  std::vector<int> codes(static_cast<std::size_t>(shim_mpi_ranks));
  std::vector<std::thread> threads;
  for (int n = 0; n < shim_mpi_ranks; ++n)
    threads.emplace_back([&, n] {
      shim_mpi_rank = n;
      shim_process = n;
      codes[static_cast<std::size_t>(n)] = shim_main(argc, argv);
    });
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(codes.begin(), codes.end());
}

#define main shim_main
