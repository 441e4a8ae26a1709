// The machine that runs this. hwloc is a part that is loaded (parts/part.h), so that a program without it
// still starts; nvidia-smi is run, and its absence is an empty text.
#include "topology/import/live.h"

#include <array>
#include <cstdio>

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
  if (text.empty()) throw InputError("hwloc", "does not report what this machine is", "import a file");
  return text;
}

std::string live_nvidia_smi() {
  constexpr std::size_t kMostOutput = 1 << 24;
  // Errors of nvidia-smi are dropped: without a driver it reports that, and there is nothing to import.
  std::FILE* const pipe = popen("nvidia-smi topo -m 2>/dev/null", "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 4096> some{};
  for (std::size_t n; text.size() < kMostOutput && (n = std::fread(some.data(), 1, some.size(), pipe)) > 0;)
    text.append(some.data(), n);
  return pclose(pipe) == 0 ? text : "";
}

}  // namespace chorale
