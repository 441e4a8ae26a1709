// Everything here is PMPI_: calls of the program's functions would come back to the preload library.
#include "preload/mpi_data.h"

#include <cstring>
#include <new>

namespace chorale {

// By size and not by extent: packed data have no gaps.
std::int64_t packed_bytes(MPI_Datatype type, std::int64_t count) {
  if (type == MPI_DATATYPE_NULL) return 0;  // MPI reports the error
  int size = 0;
  PMPI_Type_size(type, &size);
  return size * count;
}

int comm_size(MPI_Comm comm) {
  int ranks = 1;
  if (comm != MPI_COMM_NULL) PMPI_Comm_size(comm, &ranks);
  return ranks;
}

int comm_rank(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

bool is_between_groups(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  return inter != 0;
}

const char* why_not_ours(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return "there is no communicator";
  if (is_between_groups(comm)) return "it is between two groups";
  return comm_size(comm) < 2 ? "there is one rank only" : nullptr;
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

// Named types of pairs have gaps (MPI_DOUBLE_INT: 12 bytes every 16), so the size is compared with the
// extent. Of derived types that would not do: they may permute elements, and MPI_Type_create_resized sets any
// extent.
bool is_dense(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  int size = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_size(type, &size);
  MPI_Aint true_lower = 0, true_extent = 0;
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED && lower == 0 && extent == size && true_extent == size;
}

int pack(const void* from, int count, MPI_Datatype type, std::byte* to, std::int64_t bytes, MPI_Comm comm) {
  // Other ranks expect as many bytes as are received here: with other ones the call is wrong.
  if (packed_bytes(type, count) != bytes) {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_TRUNCATE);
    return MPI_ERR_TRUNCATE;
  }
  if (is_dense(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  int position = 0;
  return PMPI_Pack(from, count, type, to, static_cast<int>(bytes), &position, comm);
}

int unpack(const std::byte* from, std::int64_t bytes, void* to, int count, MPI_Datatype type, MPI_Comm comm) {
  if (is_dense(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  int position = 0;
  return PMPI_Unpack(from, static_cast<int>(bytes), &position, to, count, type, comm);
}

int both(int first, int then) {
  return first != MPI_SUCCESS ? first : then;
}

// One reduction: the most of ~value is the complement of the least value, and values are equal if the most is
// the least. One rank that is not good brings the first number above 0.
bool all_agree(MPI_Comm comm, bool good, std::uint64_t value) {
  const std::uint64_t mine[3] = {good ? 0u : 1u, value, ~value};
  std::uint64_t most[3] = {};
  return PMPI_Allreduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, comm) == MPI_SUCCESS && most[0] == 0 &&
         most[1] == ~most[2];
}

// Memory is taken before the ranks meet in all_agree, so that none comes to the Allgather alone.
std::vector<RankLocation> located_ranks(MPI_Comm comm, const std::string& host, std::uint64_t place,
                                        bool good) {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  if (host.empty()) PMPI_Get_processor_name(name, &length);
  const Whereabouts mine{
      .host = number_of_host(host.empty() ? std::string_view(name, length) : std::string_view(host)),
      .place = place};
  std::vector<Whereabouts> all;
  std::vector<RankLocation> locations;
  try {
    all.resize(comm_size(comm));
    locations.resize(all.size());
  } catch (const std::bad_alloc&) {
    good = false;
  }
  if (!all_agree(comm, good, 0) ||
      PMPI_Allgather(&mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, comm) != MPI_SUCCESS)
    return {};
  locate_ranks(all, locations);
  return locations;
}

}  // namespace chorale
