// libchorale-nccl-run
#include "runtime/parts/part.h"

CHORALE_PART const chorale::NcclPart* chorale_nccl_part() {
  static const chorale::NcclPart part = {.run = chorale::run_on_nccl,
                                         .run_library = chorale::run_nccl_library};
  return &part;
}
