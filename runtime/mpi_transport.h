// Messages over a communicator of the caller's MPI program.
#pragma once

#include <chrono>
#include <memory>

#include "runtime/transport.h"

namespace chorale {

// comm: the communicator as MPI_Comm_c2f gives it, so that no header of ours needs MPI's. It must outlive the
// transport and be used by no other code. After a Hang the process cannot finalize MPI.
std::unique_ptr<Transport> mpi_transport(int comm, std::chrono::milliseconds timeout);

}  // namespace chorale
