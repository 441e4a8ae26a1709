// The machine that this runs on, in hwloc's words.
#pragma once

#include <string>

namespace chorale {

// hwloc's XML. Throws InputError where this build has no hwloc, or hwloc fails.
std::string live_hwloc_xml();

}  // namespace chorale
