#include "api/import.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "ir/error.h"
#include "topology/import/import.h"
#include "topology/import/live.h"
#include "topology/import_report.h"

namespace chorale {
namespace {

Import read(const std::vector<NamedText>& files, const ImportQuestion& question) {
  if (question.nodes < 1 || !(question.error > 0 && question.error <= 0.5) || !(question.nic_gbits >= 0))
    throw InputError("import", "a number is out of range",
                     "nodes are 1 or more, the error is above 0 and at most 0.5, Gb/s are not negative");
  return imported(files, {.nodes = question.nodes,
                          .error = question.error,
                          .network_within_nodes = question.network_within_nodes,
                          .choices = {.instance = question.instance, .nic_gbits = question.nic_gbits}});
}

ImportedMachine told(const Import& import) {
  return {
      .machine = import.machine, .names = import.names, .report = describe(import), .json = to_json(import)};
}

}  // namespace

std::span<const OptionRow<ImportQuestion>> import_rows() {
  using O = ImportQuestion;
  static constexpr OptionRow<O> kRows[] = {
      {{.name = "nodes",
        .option = "--nodes",
        .value = "N",
        .help = "Copies of one file that describes a node, joined by their NICs ({})",
        .least = 1,
        .most = 4096},
       member<O, &O::nodes>()},
      {{.name = "error",
        .option = "--error",
        .value = "PART",
        .help = "How far a rate may be off as whole chunks per round ({})",
        .kind = OptionKind::Number,
        .lowest = 1e-9,
        .highest = 0.5},
       member<O, &O::error>()},
      {{.name = "network_within_nodes",
        .option = "--network-within-nodes",
        .help = "Paths through the network between GPUs of one node, too, beside NVLink or xGMI",
        .kind = OptionKind::Switch},
       member<O, &O::network_within_nodes>()},
      {{.name = "instance",
        .option = "--instance",
        .value = "TYPE",
        .help = "Type of a cloud machine whose file shows PCI only, such as azure-ndv4 (by the file)",
        .kind = OptionKind::Text},
       member<O, &O::instance>()},
      {{.name = "nic_gbits",
        .option = "--nic-gbits",
        .value = "G",
        .help = "Gb/s of NICs whose speed the file lacks (by their kind)",
        .kind = OptionKind::Number,
        .lowest = 1e-3,
        .highest = 1e6},
       member<O, &O::nic_gbits>()},
  };
  return kRows;
}

ImportedMachine import_machine(const std::vector<NamedText>& files, const ImportQuestion& question) {
  return told(read(files, question));
}

bool is_foreign_file(const std::string& spec_or_file) {
  return names_a_file(spec_or_file) && is_foreign(read_file(spec_or_file));
}

DiscoveredMachine discover_machine(const std::vector<std::string>& nccl_files,
                                   const ImportQuestion& question) {
  std::vector<std::pair<std::string, std::function<std::string()>>> sources;
  for (const std::string& path : nccl_files) sources.emplace_back(path, [path] { return read_file(path); });
  sources.emplace_back("nvidia-smi", live_nvidia_smi);
  sources.emplace_back("hwloc", live_hwloc_xml);
  DiscoveredMachine found;
  const auto lacks = [&](const std::string& why) {
    found.lacked += (found.lacked.empty() ? "" : "; ") + why;
  };
  for (const auto& [name, text_of] : sources) {
    try {
      const std::string text = text_of();
      if (text.empty()) {
        lacks(name + ": not there");
        continue;
      }
      Import import = read({{name, text}}, question);
      import.machine.name = "here" + (question.nodes > 1 ? fmt::format("-x{}", question.nodes) : "");
      found.machine = told(import);
      return found;
    } catch (const InputError& error) {
      lacks(error.what());
    }
  }
  throw InputError("this machine", "shows no GPU (" + found.lacked + ")",
                   "import a file of the machine that you mean");
}

}  // namespace chorale
