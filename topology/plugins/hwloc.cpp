// libchorale-hwloc: the adapter to hwloc, of which the machine's XML is all we want:
// topology/import/hwloc_xml.cpp reads it as it reads files.
#include <hwloc.h>

#include "ir/plugin.h"
#include "topology/plugins/tables.h"

namespace chorale {
namespace {

std::string live_xml() {
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) return "";
  // By default hwloc drops PCI: these are devices of known classes, and the bridges above them.
  hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  std::string text;
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_load(machine) == 0 &&
      hwloc_topology_export_xmlbuffer(machine, &buffer, &length, 0) == 0) {
    text.assign(buffer, length > 0 && buffer[length - 1] == '\0' ? length - 1 : length);
    hwloc_free_xmlbuffer(machine, buffer);
  }
  hwloc_topology_destroy(machine);
  return text;
}

}  // namespace
}  // namespace chorale

CHORALE_PLUGIN chorale_hwloc_plugin() {
  static const chorale::HwlocPlugin plugin = {.live_machine = chorale::live_xml};
  return &plugin;
}
