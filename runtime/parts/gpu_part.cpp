// libchorale-gpu-run
#include "runtime/parts/part.h"

CHORALE_PART const chorale::GpuPart* chorale_gpu_part() {
  static const chorale::GpuPart part = {.run_peers = chorale::run_peers_on_gpu};
  return &part;
}
