// The machine that this runs on, by files that the environment names and what api/machines.h finds by itself.
#include <cstdlib>
#include <filesystem>

#include "api/machines.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "ir/error.h"
#include "ir/json.h"

namespace chorale {
namespace {

constexpr const char* kVirtualTopology =
    "/var/run/nvidia-topologyd/virtualTopology.xml";  // of a cloud's machine

// Files that NCCL reads or writes here.
std::vector<std::string> nccl_files() {
  std::vector<std::string> paths;
  // In this order: what NCCL has written of this machine, what it is given to read, and what a daemon puts
  // into virtual machines of clouds.
  for (const char* variable : {"NCCL_TOPO_DUMP_FILE", "NCCL_TOPO_FILE"})
    if (const char* const path = std::getenv(variable); path != nullptr && *path != '\0')
      paths.emplace_back(path);
  paths.emplace_back(kVirtualTopology);
  std::error_code error;
  std::erase_if(paths,
                [&](const std::string& path) { return !std::filesystem::is_regular_file(path, error); });
  return paths;
}

}  // namespace

Outcome perform(const DiscoverCommand& command, Supervisor&) {
  // `lacked` has the sources before the one that was taken, and why each was not.
  const DiscoveredMachine found = discover_machine(nccl_files(), command.question);
  Outcome outcome{.text = found.machine.report};
  if (!found.lacked.empty()) outcome.text += "tried before: " + found.lacked + "\n";
  if (!command.output.empty()) deliver(command.output, to_json(found.machine.machine), outcome);
  if (!command.json.empty()) deliver(command.json, found.machine.json, outcome);
  return outcome;
}

}  // namespace chorale
