// Cloud machines whose files show PCI only: what their GPUs are, and what joins them beside PCI.
#pragma once

#include <string>

#include "ir/import_options.h"
#include "topology/import/host.h"

namespace chorale {

// A host of which only the PCI devices are known; completed() adds its NVLinks and the speed of its NICs.
struct PciSkeleton {
  Host host = {};           // with GPUs and NICs by their PCI classes; NICs without speed
  std::string gpu_id = {};  // "10de:20b0", of all of its GPUs, or empty
};

// Adds NVLinks and the speed of NICs, from the table of instance types: the type that was named, or else the
// one that the file's name, its GPUs and NICs point to. Records the type in Host::assumed. Throws InputError
// if no type fits, or several.
Host completed(PciSkeleton, const ImportOptions&);

// A described node with the NICs of ImportOptions::instance if it has none: equally many beside each GPU, or
// each between neighbouring GPUs. Without an instance as it is. Throws InputError for unknown types, and for
// another number of GPUs.
Host with_nics_of(Host, const ImportOptions&);

}  // namespace chorale
