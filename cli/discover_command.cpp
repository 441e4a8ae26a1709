// The machine that this runs on. NCCL's own description is the best, since it has NVLinks and NICs with their speed; then
// nvidia-smi; then hwloc. The first that has a GPU is taken, and what the others lacked is said.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "ir/files.h"
#include "ir/json.h"
#include "topology/import/live.h"
#include "topology/import/report.h"

namespace chorale {
namespace {

constexpr const char* kVirtualTopology =
    "/var/run/nvidia-topologyd/virtualTopology.xml";  // of a cloud's machine
constexpr std::size_t kMostOutput = 1 << 24;

// What a program prints; empty where it is not there or fails.
std::string output_of(const char* command) {
  std::FILE* const pipe = popen(command, "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 4096> some{};
  for (std::size_t n; text.size() < kMostOutput && (n = std::fread(some.data(), 1, some.size(), pipe)) > 0;)
    text.append(some.data(), n);
  return pclose(pipe) == 0 ? text : "";
}

// Files that NCCL reads or writes here.
std::vector<std::string> nccl_files() {
  std::vector<std::string> paths;
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
  if (command.output == kStandardOutput && command.json == kStandardOutput)
    throw InputError("--json", "standard output cannot hold two files", "give one of them a name");
  require_writable_file("-o", command.output);
  require_writable_file("--json", command.json);
  std::string lacked;
  const auto tried = [&](const std::string& what, const auto& text_of) -> std::optional<Import> {
    try {
      const std::string text = text_of();
      if (!text.empty()) return imported({{what, text}}, command.options);
      lacked += (lacked.empty() ? "" : "; ") + what + ": not there";
    } catch (const InputError& error) {
      lacked += (lacked.empty() ? "" : "; ") + std::string(error.what());
    }
    return std::nullopt;
  };
  std::optional<Import> found;
  for (const std::string& path : nccl_files())
    if (!found) found = tried(path, [&] { return read_file(path); });
  if (!found) found = tried("nvidia-smi", [] { return output_of("nvidia-smi topo -m 2>/dev/null"); });
  if (!found) found = tried("hwloc", [] { return live_hwloc_xml(); });
  if (!found)
    throw InputError("this machine", "shows no GPU (" + lacked + ")",
                     "import a file of the machine that you mean");
  found->machine.name =
      "here" + (command.options.nodes > 1 ? fmt::format("-x{}", command.options.nodes) : "");
  Outcome outcome{.text = describe(*found)};
  if (!lacked.empty()) outcome.text += "tried before: " + lacked + "\n";
  if (!command.output.empty()) deliver(command.output, to_json(found->machine), outcome);
  if (!command.json.empty()) deliver(command.json, to_json(*found), outcome);
  return outcome;
}

}  // namespace chorale
