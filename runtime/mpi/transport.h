// Messages over a communicator of MPI, for sources that need no more of the transport than its interface.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>

#include "runtime/exchange/transport.h"

namespace chorale {

// As MpiTransport (runtime/exchange/mpi.h).
std::unique_ptr<Transport> mpi_transport(MPI_Comm, std::chrono::milliseconds patience, bool* hung = nullptr);

}  // namespace chorale
