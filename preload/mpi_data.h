// The data of calls of MPI: their bytes, packed where they lie scattered, and what ranks have to agree on.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1  // the C++ interface that MPI 3 removed, and its warnings
#endif
#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace chorale {

// MPI packs into at most 2 GiB.
constexpr std::int64_t kMostPacked = (std::int64_t{1} << 31) - 1;

// Elements of a type that a call moves but does not interpret, as bytes one after the other.
std::int64_t packed_bytes(MPI_Datatype, std::int64_t count);

// 1 without a communicator.
int comm_size(MPI_Comm);

// Whether elements are contiguous, so that their bytes can be copied. True of named types only: derived types
// are packed by MPI.
bool is_dense(MPI_Datatype);

// These two return what MPI does. A rank that fails here takes part in the algorithm nevertheless: others
// wait for it. The data that it sends are then not its own, as with MPI's collectives.
int pack(const void* from, int count, MPI_Datatype, std::byte* to, std::int64_t bytes, MPI_Comm);
int unpack(const std::byte* from, std::int64_t bytes, void* to, int count, MPI_Datatype, MPI_Comm);

// The first that went wrong.
int both(int first, int then);

// Ends what a communicator has of ours: a transport, and the communicator that it sends over. MPI asks for it
// when the former is freed.
template <class Companion>
int forget(void* companion) {
  Companion* const mine = static_cast<Companion*>(companion);
  if (mine == nullptr) return MPI_SUCCESS;
  mine->transport.reset();
  if (mine->comm != MPI_COMM_NULL) PMPI_Comm_free(&mine->comm);
  delete mine;
  return MPI_SUCCESS;
}

// Is all well in each rank, and the value the same?
bool all_agree(MPI_Comm, bool good, std::uint64_t value);

}  // namespace chorale
