// MPI_Alltoallv by a plan made when it is called: ranks gather the counts of all, plan alike
// (runtime/alltoallv/plan.h), and carry the plan out together. It needs no algorithms, only the rates of
// nodes and of their NICs.
//
// Where direct sends are predicted to be the fastest, or what a plan would save is less than planning takes,
// MPI does the call: every rank decides so by the same counts. One communicator is used by one thread at a
// time, as MPI requires.
#pragma once

#include <optional>
#include <string>

#include "ir/alltoallv.h"
#include "preload/mpi_data.h"

namespace chorale {

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
