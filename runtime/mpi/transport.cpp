// Only here is runtime/exchange/mpi.h compiled for the runtime: all other sources see a Transport.
#include "runtime/mpi/transport.h"

#include "runtime/exchange/mpi.h"

namespace chorale {

std::unique_ptr<Transport> mpi_transport(MPI_Comm comm, std::chrono::milliseconds patience, bool* hung) {
  return std::make_unique<MpiTransport>(comm, patience, hung);
}

}  // namespace chorale
