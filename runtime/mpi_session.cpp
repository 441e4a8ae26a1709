// One each of Open MPI's mpirun, PMIx, PMI and MPICH's hydra.
#include "runtime/mpi_session.h"

namespace chorale {

const std::vector<std::string>& mpi_launcher_variables() {
  static const std::vector<std::string> names = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE",
                                                 "MPI_LOCALNRANKS"};
  return names;
}

}  // namespace chorale
