// Readers are in topology/import/; here their result is reported, and sources of this machine are tried in
// order of what they know: files of NCCL have NVLinks and NIC speeds, nvidia-smi the connections, hwloc the
// PCI tree.
#include "api/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "api/report.h"
#include "construct/composition.h"
#include "ir/enum_names.h"
#include "ir/error.h"
#include "ir/or_error.h"
#include "ir/switch_gain.h"
#include "ir/words.h"
#include "topology/builders.h"
#include "topology/changes.h"
#include "topology/hardware/computing.h"
#include "topology/hardware/facts.h"
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
  Import named;
  if (computing.nodes > 0 && !question.forward_only)
    named.assumed.push_back(computing_in_words(*computing.gpu));
  if (const std::string network = names_a_file(file) ? "" : assumed_network(file); !network.empty())
    named.assumed.push_back(network);
  return provenance(named);
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

std::vector<Rank> ranks_gone(const std::string& spec_or_file, const MachineChanges& changes) {
  if (changes.without_ranks.empty()) return {};
  return ranks_gone(load_topology(split_failure(spec_or_file).machine, {.import = changes.import}), changes);
}

// A failed link changes no host; of a failed rank, that of the rank goes.
std::vector<int> hosts_of(const std::string& spec) {
  if (const NamedChanges named = split_failure(spec); !named.failure.empty()) {
    std::vector<int> hosts = hosts_of(named.machine);
    // A name has one failure (topology/changes.h), so no earlier one has shifted this index.
    for (const Rank rank : ranks_gone(named.machine, named.changes))
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

Report report_of(const std::vector<CatalogueEntry>& machines) {
  ReportTable table{.rows = {{"machine", "example", "description"}}, .kinds = "lll"};
  for (const CatalogueEntry& entry : machines)
    table.rows.push_back({entry.pattern, entry.example, entry.description});
  return {.title = "machines", .tables = {std::move(table)}};
}

namespace {

std::string shape_in_words(const Level& level) {
  const LinkModel& link = level.link;
  return std::string(name_in<LinkModel::Shape>(kShapes, link.shape)) + (link.rails ? " on rails" : "") +
         (link.switch_gain > 0 ? fmt::format(" that copies and adds, {:.3g} times",
                                             gain_of_ports(link.switch_gain, level.fan_out))
                               : "");
}

std::string path_in_words(const std::optional<SharedPath>& path) {
  if (!path) return "-";
  return path->children == 1 ? fmt::format("{:.6g}", path->bandwidth_gbs)
                             : fmt::format("{:.6g} for {}", path->bandwidth_gbs, path->children);
}

}  // namespace

// In a ring a detour is the path between children that are not neighbours.
Report report_of(const Hierarchy& hierarchy) {
  Report report{.title = hierarchy.name};
  ReportTable table{
      .title = fmt::format("{}: {}{}; rates in GB/s, latencies in us", hierarchy.name,
                           counted(devices(hierarchy), "device"), call_in_words(hierarchy.call_us)),
      .rows = {{"level", "fan-out", "shape", "ports", "each", "latency", "one stream", "uplink", "detour"}},
      .kinds = "lrlrrrlll"};
  std::vector<std::string> inside;
  for (std::size_t j = 0; j < hierarchy.levels.size(); ++j) {
    const Level& level = hierarchy.levels[j];
    const LinkModel& link = level.link;
    table.rows.push_back({level.name, fmt::format("{}", level.fan_out), shape_in_words(level),
                          fmt::format("{}", link.ports), fmt::format("{:.6g}", link.bandwidth_gbs),
                          fmt::format("{:.6g}", link.latency_us),
                          link.stream_gbs > 0 ? fmt::format("{}", link.stream_gbs) : "-",
                          path_in_words(link.exit), path_in_words(link.detour)});
    if (link.host)
      report.sentences.push_back(fmt::format("{} host: {} up to memory and down, {} between sockets",
                                             level.name, path_in_words(link.host->uplink),
                                             path_in_words(link.host->socket)));
    if (static_cast<int>(j) >= hierarchy.node_level) inside.push_back(level.name);
  }
  report.sentences.push_back("inside a node: " + (inside.empty() ? "nothing" : joined(inside)));
  report.tables = {std::move(table)};
  return report;
}

Report report_of_facts() {
  const auto number = [](double value) { return value == 0 ? "" : fmt::format("{:g}", value); };
  ReportTable links{"links", {{"link", "line GB/s", "GB/s", "step us", "source"}}, "lrrrl"};
  for (const LinkFacts& link : link_table())
    links.rows.push_back(
        {link.name, number(link.line_gbs), number(link.gbs), number(link.step_us), link.source});
  ReportTable gpus{"GPUs",
                   {{"GPU", "links", "of", "PCI", "NIC Gb/s", "CPU", "call us", "share by switch", "source"}},
                   "lrlrrlrrl"};
  for (const GpuFacts& gpu : gpu_table())
    gpus.rows.push_back({gpu.name, number(gpu.links), gpu.link, number(gpu.pci), number(gpu.nic_gbits),
                         gpu.cpu, number(gpu.call_us),
                         *gpu.nvswitch == 0 ? "" : number(switch_facts(gpu.nvswitch).share), gpu.source});
  ReportTable switches{"switches", {{"switch", "can", "share", "source"}}, "llrl"};
  for (const SwitchFacts& each : switch_table())
    switches.rows.push_back({each.name, in_words(each.abilities), number(each.share), each.source});
  ReportTable networks{"networks", {{"network", "part of line", "step us", "source"}}, "lrrl"};
  for (const NetworkFacts& each : network_table())
    networks.rows.push_back({each.name, number(each.part), number(each.step_us), each.source});
  ReportTable pci{"PCI", {{"PCI x16", "line GB/s", "GB/s", "loads", "stores", "source"}}, "lrrrrl"};
  for (const PciFacts& each : pci_table())
    pci.rows.push_back({fmt::format("{}, {:g} GT/s", each.generation, each.gigatransfers),
                        number(each.line_gbs), number(each.gbs), number(each.peer_read_gbs),
                        number(each.peer_write_gbs), each.source});
  ReportTable sockets{"sockets", {{"between CPUs", "GB/s", "source"}}, "lrl"};
  for (const SocketFacts& each : socket_table())
    sockets.rows.push_back({each.name, number(each.gbs), each.source});
  ReportTable nics{"NICs", {{"NIC", "PCI device", "Gb/s"}}, "llr"};
  for (const NicFacts& each : nic_table()) nics.rows.push_back({each.name, each.id, number(each.gbits)});
  const HostFacts& host = host_facts();
  const ReportTable hosts{"hosts",
                          {{"a host as a rank", "NIC Gb/s", "call us", "source"},
                           {host.network, number(host.nic_gbits), number(host.call_us), host.source}},
                          "lrrl"};
  return {.title = "what hardware carries and costs",
          .tables = {links, gpus, switches, networks, pci, sockets, nics, hosts}};
}

}  // namespace chorale
