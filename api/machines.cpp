// Readers are in topology/import/; here their result is reported, and sources of this machine are tried in
// order of what they know: files of NCCL have NVLinks and NIC speeds, nvidia-smi the connections, hwloc the
// PCI tree.
#include "api/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "construct/composition.h"
#include "ir/error.h"
#include "ir/hierarchy.h"
#include "ir/or_error.h"
#include "topology/builders.h"
#include "topology/changes.h"
#include "topology/hardware/computing.h"
#include "topology/import/import.h"
#include "topology/import_report.h"
#include "topology/machines.h"
#include "topology/switches.h"

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

// The file without the failure that its name may have.
std::string provenance_of(const std::string& spec_or_file, const ImportOptions& question) {
  const std::string file = split_failure(spec_or_file).machine;
  if (is_foreign_file(file)) return provenance(imported({{file, read_file(file)}}, question));
  const ComputingNodes computing = names_a_file(file) ? ComputingNodes() : computing_nodes(file);
  if (computing.nodes == 0 || question.forward_only) return "";
  return provenance({.assumed = {computing_in_words(*computing.gpu)}});
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

// Levels come from the description of a machine if it has two or more of size above one, and else from its
// graph (construct/composition.h, nestings): equal connected parts, joined alike.

std::optional<Nesting> nesting_if_any(const std::string& spec_or_file, const MachineChanges& changes) {
  Nesting named;
  if (const Levels levels = load_levels(spec_or_file, changes); levels.hierarchy)
    for (const Level& level : levels.hierarchy->levels)
      // A level of one child divides nothing.
      if (level.fan_out > 1) {
        named.names.push_back(level.name);
        named.fan_outs.push_back(level.fan_out);
      }
  if (named.names.size() > 1) return named;
  const std::vector<Nesting> found = nestings(flatten(load_topology(spec_or_file, changes)));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

Nesting nesting(const std::string& spec_or_file, const MachineChanges& changes) {
  std::optional<Nesting> found = nesting_if_any(spec_or_file, changes);
  if (!found)
    throw InputError("machine " + spec_or_file, "is not divided into equal groups, each joined inside",
                     "use one with levels ('chorale hierarchy list'), or 'chorale frontier'");
  return std::move(*found);
}

std::vector<Rank> ranks_gone(const MachineChanges& changes) {
  std::vector<Rank> gone;
  for (const std::string& each : changes.without_ranks) gone.push_back(std::stoi(each));
  std::ranges::sort(gone);
  gone.erase(std::ranges::unique(gone).begin(), gone.end());
  return gone;
}

// A failed link changes no host; of a failed rank, that of the rank goes.
std::vector<int> hosts_of(const std::string& spec) {
  if (const NamedChanges named = split_failure(spec); !named.failure.empty()) {
    std::vector<int> hosts = hosts_of(named.machine);
    // A name has one failure (topology/changes.h), so no earlier one has shifted this index.
    for (const Rank rank : ranks_gone(named.changes))
      if (!hosts.empty()) hosts.erase(hosts.begin() + rank);
    return hosts;
  }
  const Levels levels = load_levels(spec);
  if (!levels.hierarchy || levels.hierarchy->node_level == 0) return {};
  // A node is a host if links inside it have less latency than every level outside: then messages between
  // ranks of different hosts are the ones that cost. Without such a difference nothing is known of hosts.
  double outside = std::numeric_limits<double>::infinity(), inside = 0;
  int of_a_node = 1;
  for (int j = 0; j < std::ssize(levels.hierarchy->levels); ++j) {
    const Level& level = levels.hierarchy->levels[j];
    if (j < levels.hierarchy->node_level) {
      outside = std::min(outside, level.link.latency_us);
    } else {
      inside = std::max(inside, level.link.latency_us);
      of_a_node *= level.fan_out;
    }
  }
  if (inside >= outside) return {};
  // Devices are numbered node by node.
  std::vector<int> hosts(devices(*levels.hierarchy));
  for (std::size_t n = 0; n < hosts.size(); ++n) hosts[n] = static_cast<int>(n) / of_a_node;
  return hosts;
}

}  // namespace chorale
