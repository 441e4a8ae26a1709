// The machine that this runs on, in the words of others.
#pragma once

#include <string>

namespace chorale {

// hwloc's XML. Throws InputError if this build lacks hwloc, or if hwloc fails.
std::string live_hwloc_xml();

// What 'nvidia-smi topo -m' prints; empty where it is not there or fails.
std::string live_nvidia_smi();

}  // namespace chorale
