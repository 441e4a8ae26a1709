// What the room's part does (parts/part.h): asks hwloc.
#pragma once

#include <string>

namespace chorale {

struct HwlocPart {
  std::string (*live_machine)() = nullptr;  // as hwloc's XML, version 2; empty where hwloc fails
};

}  // namespace chorale
