// libchorale-gpu-run
#include "ir/plugin.h"
#include "runtime/plugins/tables.h"

CHORALE_PLUGIN chorale_gpu_plugin() {
  static const chorale::GpuPlugin plugin = {.run_peers = chorale::run_peers_on_gpu};
  return &plugin;
}
