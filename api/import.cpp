// Readers are in topology/import/; here their result is reported, and sources of this machine are tried in
// order of what they know: files of NCCL have NVLinks and NIC speeds, nvidia-smi the connections, hwloc the
// PCI tree.
#include "api/import.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "ir/or_error.h"
#include "topology/import/import.h"
#include "topology/import_report.h"

namespace chorale {
namespace {

ImportedMachine reported(const Import& import) {
  return {.machine = import.machine, .report = describe(import), .json = to_json(import)};
}

}  // namespace

ImportedMachine import_machine(const std::vector<NamedText>& files, const ImportOptions& question) {
  return reported(imported(files, question));
}

bool is_foreign_file(const std::string& spec_or_file) {
  return names_a_file(spec_or_file) && is_foreign(read_file(spec_or_file));
}

DiscoveredMachine discover_machine(const std::vector<std::string>& nccl_files,
                                   const ImportOptions& question) {
  std::vector<std::pair<std::string, std::function<std::string()>>> sources;
  for (const std::string& path : nccl_files) sources.emplace_back(path, [path] { return read_file(path); });
  // Programs are started only if they are reached: a source is a function, not its text.
  sources.emplace_back("nvidia-smi", live_nvidia_smi);
  sources.emplace_back("hwloc", live_hwloc_xml);
  DiscoveredMachine found;
  const auto lacks = [&](const std::string& why) {
    found.lacked += (found.lacked.empty() ? "" : "; ") + why;
  };
  // A source that is absent, unreadable or without a GPU is followed by the next, and its reason is kept:
  // beside the machine that is found, or in the error if none is.
  for (const auto& [name, text_of] : sources) {
    const OrError<std::string> text = read_or_error(text_of);
    if (text && (*text).empty()) {
      lacks(name + ": not there");
      continue;
    }
    OrError<Import> import = text ? read_or_error([&] {
      return imported({{name, *text}}, question);
    })
                                  : text.error();
    if (!import) {
      lacks(import.error().what());
      continue;
    }
    import->machine.name = "here" + (question.nodes > 1 ? fmt::format("-x{}", question.nodes) : "");
    found.machine = reported(*import);
    return found;
  }
  throw InputError("this machine", "shows no GPU (" + found.lacked + ")",
                   "import a file of the machine that you mean");
}

}  // namespace chorale
