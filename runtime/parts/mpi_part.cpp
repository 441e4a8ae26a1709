// libchorale-mpi-run
#include "parts/part.h"
#include "runtime/parts/tables.h"

CHORALE_PART chorale_mpi_part() {
  static const chorale::MpiPart part = {.start = chorale::start_mpi, .run_library = chorale::run_mpi_library};
  return &part;
}
