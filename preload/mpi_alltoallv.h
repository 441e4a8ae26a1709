// MPI_Alltoallv by a plan made when it is called: ranks gather the counts of all, plan alike
// (runtime/alltoallv/plan.h), and carry the plan out together. It needs no algorithms, only the rates of
// nodes and of their NICs.
//
// Where direct sends are predicted to be the fastest, or what a plan would save is less than planning takes,
// MPI does the call: every rank decides so by the same counts. One communicator is used by one thread at a
// time, as MPI requires.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ir/alltoallv.h"
#include "library/rank_mapping.h"

namespace chorale {

// MPI packs into at most 2 GiB.
constexpr std::int64_t kMostPacked = (std::int64_t{1} << 31) - 1;

// Elements of a type that a call moves but does not interpret, as bytes one after the other.
std::int64_t packed_bytes(MPI_Datatype, std::int64_t count);

// 1 without a communicator.
int comm_size(MPI_Comm);
int comm_rank(MPI_Comm);

// Whether its ranks send to those of another group.
bool is_between_groups(MPI_Comm);
// Why no call on this communicator is Chorale's: null, between two groups, of one rank; null: calls may be.
const char* why_not_ours(MPI_Comm);

// Bytes from one element to the next, of a type that is not null.
MPI_Aint extent_of(MPI_Datatype);

// Whether elements are contiguous, so that their bytes can be copied. True of named types only: derived types
// are packed by MPI.
bool is_dense(MPI_Datatype);

// These two return what MPI does. A rank that fails here takes part in the algorithm nevertheless: others
// wait for it. The data that it sends are then not its own, as with MPI's collectives.
int pack(const void* from, int count, MPI_Datatype, std::byte* to, std::int64_t bytes, MPI_Comm);
int unpack(const std::byte* from, std::int64_t bytes, void* to, int count, MPI_Datatype, MPI_Comm);

// The first that went wrong.
int both(int first, int then);

// What is kept with each communicator, by an attribute of it: a Companion with a `transport` and a duplicate,
// `comm`, that it sends over. MPI deletes it when the communicator is freed; a copy of a communicator has
// none.
template <class Companion>
class MpiCompanions {
 public:
  // Nothing: none was kept yet. Null is kept as well: MPI does the calls of that communicator.
  std::optional<Companion*> kept(MPI_Comm comm) {
    void* known = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, key(), &known, &found);
    return found ? std::optional(static_cast<Companion*>(known)) : std::nullopt;
  }
  Companion* keep(MPI_Comm comm, Companion* companion) {
    PMPI_Comm_set_attr(comm, key(), companion);
    return companion;
  }
  static int forget(MPI_Comm, int, void* companion, void*) {
    Companion* const mine = static_cast<Companion*>(companion);
    if (mine == nullptr) return MPI_SUCCESS;
    mine->transport.reset();
    if (mine->comm != MPI_COMM_NULL) PMPI_Comm_free(&mine->comm);
    delete mine;
    return MPI_SUCCESS;
  }

 private:
  int key() {
    const std::lock_guard lock(mutex_);
    if (key_ == MPI_KEYVAL_INVALID) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key_, nullptr);
    return key_;
  }

  std::mutex mutex_ = {};
  int key_ = MPI_KEYVAL_INVALID;
};

// Is all well in each rank, and the value the same?
bool all_agree(MPI_Comm, bool good, std::uint64_t value);

// By rank; empty where a rank lacks the memory for it, or is not `good`. `host`: of this rank, the same for
// ranks of one host; empty: the result of MPI_Get_processor_name. All ranks call it; throws nothing.
std::vector<RankLocation> located_ranks(MPI_Comm, const std::string& host, std::uint64_t place,
                                        bool good = true);

// What CHORALE_NODES has: rates, or why there are none; both empty: it is not set.
struct NodeRates {
  std::optional<TierRates> rates = {};
  std::string fault = {};
};

class MpiAlltoallv {
 public:
  // In all ranks the same; none: MPI does all calls. `host`: as in mpi_collectives.h.
  MpiAlltoallv(NodeRates, std::string host);

  // MPI's own signature and result, and what was done in `done`; none: MPI is to do it, in all ranks, for the
  // reason in `done`.
  std::optional<int> call(const void* send, const int send_counts[], const int send_places[],
                          MPI_Datatype send_type, void* recv, const int recv_counts[],
                          const int recv_places[], MPI_Datatype recv_type, MPI_Comm, std::string& done);

 private:
  struct Companion;

  Companion* companion_of(MPI_Comm);
  bool learn_nodes(MPI_Comm, Companion&) const;

  const std::optional<TierRates> rates_;
  const std::string fault_;
  const std::string host_;
  MpiCompanions<Companion> companions_ = {};
};

}  // namespace chorale
