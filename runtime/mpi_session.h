// MPI, from MPI_Init to MPI_Finalize. At most one session in the life of a process. The program has MPI in a
// library of its own (runtime/parts), since it takes longer to load than most commands take.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/topology.h"
#include "runtime/exchange/transport.h"

namespace chorale {

// Environment variables that launchers set for each of their processes: one each of Open MPI's mpirun, PMIx,
// PMI and MPICH's hydra. Without any of them, this process was not started by mpirun.
inline const std::vector<std::string> kMpiLauncherVariables = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
                                                               "PMI_SIZE", "MPI_LOCALNRANKS"};

struct OwnAlgorithms {
  std::string library = {};  // "ompi" (Open MPI), "mpich"
  struct Algorithm {
    int number = 0;
    std::string name = {};
  };
  std::vector<Algorithm> algorithms = {};
};

class MpiSession {
 public:
  // The whole one finalizes, which waits for the other ranks; but after a Hang it does not, since they may
  // never come. mpirun then ends them when this process exits.
  virtual ~MpiSession() = default;

  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;

  // Messages between its ranks, nonblocking. No wait lasts longer than `timeout`. Must not outlive the
  // session.
  virtual std::unique_ptr<Transport> transport(std::chrono::milliseconds timeout) = 0;

  // A session of the ranks that pass the same number, in the order of their ranks; all ranks call it. Must
  // not outlive this one.
  virtual std::unique_ptr<MpiSession> part(int number) = 0;

  // Of its ranks, as MPI_Comm_c2f gives it, so that no header of ours needs MPI's.
  virtual int communicator() const = 0;

  // The MPI library's own algorithms for a collective, as its control variables (MPI_T) list them. Numbers
  // are those of its settings; the choice that it makes by itself is not among them. Empty: none can be
  // forced.
  virtual OwnAlgorithms own_algorithms(CollectiveKind) = 0;
  // A session of the same ranks in which that algorithm performs every collective of the kind; all ranks call
  // it. An error of MPI is returned to the caller instead of ending the program. One at a time; must not
  // outlive this one.
  virtual std::unique_ptr<MpiSession> forced(CollectiveKind, int number) = 0;
};

// `can_force`: algorithms of the MPI library are to be forced. Open MPI reads the setting that permits it as
// it starts.
std::unique_ptr<MpiSession> start_mpi(bool can_force = false);

}  // namespace chorale
