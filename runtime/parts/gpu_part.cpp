// libchorale-gpu-run
#include "parts/part.h"
#include "runtime/parts/tables.h"

CHORALE_PART chorale_gpu_part() {
  static const chorale::GpuPart part = {.run_peers = chorale::run_peers_on_gpu};
  return &part;
}
