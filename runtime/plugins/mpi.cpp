// libchorale-mpi-run
#include "ir/plugin.h"
#include "runtime/plugins/tables.h"

CHORALE_PLUGIN chorale_mpi_plugin() {
  static const chorale::MpiPlugin plugin = {.start = chorale::start_mpi,
                                            .run_library = chorale::run_mpi_library};
  return &plugin;
}
