// libchorale-nccl-run
#include "ir/plugin.h"
#include "runtime/plugins/tables.h"

CHORALE_PLUGIN chorale_nccl_plugin() {
  static const chorale::NcclPlugin plugin = {.run = chorale::run_on_nccl,
                                             .run_library = chorale::run_nccl_library,
                                             .library_has = chorale::nccl_library_has};
  return &plugin;
}
