// libchorale-nccl-run
#include "parts/part.h"
#include "runtime/parts/tables.h"

CHORALE_PART chorale_nccl_part() {
  static const chorale::NcclPart part = {.run = chorale::run_on_nccl,
                                         .run_library = chorale::run_nccl_library,
                                         .library_has = chorale::nccl_library_has};
  return &part;
}
