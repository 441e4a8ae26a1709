// MPI's collectives that MpiCollectives does, one row each: MPI's name, that of the C library, ours,
// parameters, arguments. The C library and the preload library define their functions by it; ROW(mpi, c,
// ours, parameters, arguments).
//
// What libchorale-mpi and the preload library read from the environment.
#pragma once

#include "ir/or_error.h"
#include "preload/mpi_alltoallv.h"
#include "runtime/alltoallv/read_rates.h"
#include "runtime/device/failure_file.h"

namespace chorale {

// CHORALE_NODES (preload/include/chorale/mpi.h); none where it is not set, or wrong: that is no reason to end
// a program that MPI serves.
inline NodeRates rates_of_nodes() {
  const std::string text = variable("CHORALE_NODES");
  if (text.empty()) return {};
  auto rates = read_or_error([&] { return read_tier_rates(text, "CHORALE_NODES"); });
  return rates ? NodeRates{.rates = *std::move(rates)} : NodeRates{.fault = rates.error().what()};
}

}  // namespace chorale

#define CHORALE_EXPORT extern "C" __attribute__((visibility("default")))

#define CHORALE_MPI_COLLECTIVES(ROW)                                                                         \
  ROW(MPI_Allreduce, chorale_mpi_allreduce, allreduce,                                                       \
      (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                \
      (send, recv, count, type, op, comm))                                                                   \
  ROW(MPI_Reduce_scatter_block, chorale_mpi_reduce_scatter_block, reduce_scatter_block,                      \
      (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),                \
      (send, recv, count, type, op, comm))                                                                   \
  ROW(MPI_Reduce, chorale_mpi_reduce, reduce,                                                                \
      (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),      \
      (send, recv, count, type, op, root, comm))                                                             \
  ROW(MPI_Bcast, chorale_mpi_bcast, bcast,                                                                   \
      (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm))  \
  ROW(MPI_Allgather, chorale_mpi_allgather, allgather,                                                       \
      (const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,                 \
       MPI_Datatype recv_type, MPI_Comm comm),                                                               \
      (send, send_count, send_type, recv, recv_count, recv_type, comm))                                      \
  ROW(MPI_Alltoall, chorale_mpi_alltoall, alltoall,                                                          \
      (const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,                 \
       MPI_Datatype recv_type, MPI_Comm comm),                                                               \
      (send, send_count, send_type, recv, recv_count, recv_type, comm))                                      \
  ROW(MPI_Allgatherv, chorale_mpi_allgatherv, allgatherv,                                                    \
      (const void* send, int send_count, MPI_Datatype send_type, void* recv, const int counts[],             \
       const int places[], MPI_Datatype recv_type, MPI_Comm comm),                                           \
      (send, send_count, send_type, recv, counts, places, recv_type, comm))                                  \
  ROW(MPI_Reduce_scatter, chorale_mpi_reduce_scatter, reduce_scatter,                                        \
      (const void* send, void* recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),       \
      (send, recv, counts, type, op, comm))                                                                  \
  ROW(MPI_Alltoallv, chorale_mpi_alltoallv, alltoallv,                                                       \
      (const void* send, const int send_counts[], const int send_places[], MPI_Datatype send_type,           \
       void* recv, const int recv_counts[], const int recv_places[], MPI_Datatype recv_type, MPI_Comm comm), \
      (send, send_counts, send_places, send_type, recv, recv_counts, recv_places, recv_type, comm))
