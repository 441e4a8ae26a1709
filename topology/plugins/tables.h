// Declares what the room's plugin does (ir/plugin.h): asks hwloc.
#pragma once

#include <string>

namespace chorale {

struct HwlocPlugin {
  std::string (*live_machine)() = nullptr;  // as hwloc's XML, version 2; empty where hwloc fails
};

}  // namespace chorale
