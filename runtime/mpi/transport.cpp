// Keeps what runtime/exchange/mpi.h needs of MPI out of all sources that only want a Transport.
#include "runtime/mpi/transport.h"

#include "runtime/exchange/mpi.h"

namespace chorale {

std::unique_ptr<Transport> mpi_transport(MPI_Comm comm, std::chrono::milliseconds patience, bool* hung) {
  return std::make_unique<MpiTransport>(comm, patience, hung);
}

}  // namespace chorale
