// The algorithms that an MPI library has for its collectives, and the control variables (MPI_T, chapter 15 of
// MPI 4.0) that force one: Open MPI's coll_tuned_*_algorithm, MPICH's MPIR_CVAR_*_INTRA_ALGORITHM.
#pragma once

#include "runtime/mpi_session.h"

namespace chorale {

// Between MPI_Init and MPI_Finalize.
OwnAlgorithms listed_algorithms(CollectiveKind);

// The variable has the algorithm's number as long as this exists. Throws InputError where it cannot be set.
class ForcedAlgorithm {
 public:
  ForcedAlgorithm(CollectiveKind, int number);
  ~ForcedAlgorithm();
  ForcedAlgorithm(const ForcedAlgorithm&) = delete;
  ForcedAlgorithm& operator=(const ForcedAlgorithm&) = delete;

 private:
  int variable_ = -1;
  int before_ = 0;
};

}  // namespace chorale
