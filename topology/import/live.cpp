// The machine that runs this. hwloc is a plugin that is loaded (ir/plugin.h), so that a program without it
// still starts; nvidia-smi is run, and its absence is an empty text.
#include "topology/import/live.h"

#include <array>
#include <cstdio>

#include "ir/error.h"
#include "ir/plugin.h"
#include "topology/plugins/tables.h"

namespace chorale {

std::string live_hwloc_xml() {
  const Plugin plugin = {.name = "hwloc",
                         .library = "libchorale-hwloc.so",
                         .function = "chorale_hwloc_plugin",
                         .remedy = "install libhwloc-dev and build again, or import a file"};
  const std::string text = loaded<HwlocPlugin>(plugin).live_machine();
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
