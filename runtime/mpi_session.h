// MPI, from MPI_Init to MPI_Finalize. At most one session in the life of a process.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/transport.h"

namespace chorale {

// Environment variables that launchers set for each of their processes; without any of them, this process was
// not started by mpirun.
const std::vector<std::string>& mpi_launcher_variables();

class MpiSession {
 public:
  MpiSession();
  // Finalizes, which waits for the other ranks; but after a Hang it does not, since they may never come.
  // mpirun then ends them when this process exits.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  Rank rank() const;
  int ranks() const;

  // Messages over MPI_COMM_WORLD, nonblocking. No wait lasts longer than `timeout`. Must not outlive the
  // session.
  std::unique_ptr<Transport> transport(std::chrono::milliseconds timeout);

 private:
  bool hung_ = false;
};

}  // namespace chorale
