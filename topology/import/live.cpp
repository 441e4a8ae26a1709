#include "topology/import/live.h"

#include "ir/error.h"
#include "parts/part.h"
#include "topology/parts/tables.h"

namespace chorale {

std::string live_hwloc_xml() {
  const Part part = {.name = "hwloc",
                     .library = "libchorale-hwloc.so",
                     .function = "chorale_hwloc_part",
                     .remedy = "install libhwloc-dev and build again, or import a file"};
  const std::string text = loaded<HwlocPart>(part).live_machine();
  if (text.empty()) throw InputError("hwloc", "does not say what this machine is", "import a file");
  return text;
}

}  // namespace chorale
