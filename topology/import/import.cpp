// The kind of a text is recognized by its beginning, never by the file's name. Then: texts -> nodes -> wiring
// -> simplified wiring -> integers.
#include "topology/import/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/limits.h"
#include "ir/plugin.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "topology/hardware/computing.h"
#include "topology/import/fit.h"
#include "topology/import/host.h"
#include "topology/import/lint.h"
#include "topology/import/named_parts.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"
#include "topology/import/xml.h"
#include "topology/plugins/tables.h"

namespace chorale {

// The machine that runs this. hwloc is a plugin that is loaded (ir/plugin.h), so that a program without it
// still starts; nvidia-smi is run, and its absence is an empty text.
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

namespace {

constexpr std::size_t kMostBytes = 64 << 20;
constexpr std::size_t kMostImportedLinks = 1'000'000;
// The last three bytes are the byte order mark of UTF-8.
constexpr const char* kBlank = " \t\r\n\xef\xbb\xbf";
// Keys of JSON that is another tool's; Chorale's own machines have "ranks" or "hierarchy".
constexpr std::array kForeignKeys = {
    "\"chorale_wiring\"", "\"msccl_type\"",    "\"TopologyParams\"",
    "\"npus_count\"",     "\"gpus_per_node\"", "\"intranode_sketch\"",
    "\"7-Flows\"",        "\"(Topology) ",     "\"network.topology.nvidia.com/"};

// Research: of msccl-tools, TACCL, TE-CCL and ASTRA-sim, which the Python package reads and writes as Wiring.
enum class Format { Nccl, NcclGraphs, Hwloc, NvidiaSmi, RocmSmi, Slurm, Wiring, Research };

// Keys that only one tool writes. Files of the same tools that are not machines get an error of their own.
Format json_format(const JsonReader& json) {
  const auto is_not_one = [&](const char* what, const char* remedy) { json.fail(what, remedy); };
  if (!json.is_object()) is_not_one("is not a machine", "give an object");
  if (json.has("system") && json.has("card0")) return Format::RocmSmi;
  if (json.has("chorale_wiring")) return Format::Wiring;
  for (const char* key : {"msccl_type", "TopologyParams", "npus_count", "gpus_per_node"})
    if (json.has(key)) return Format::Research;
  if (json.has("intranode_sketch"))
    is_not_one("is a sketch of TACCL, not a machine", "give the topology file");
  if (json.has("7-Flows")) is_not_one("is a schedule of TE-CCL, not a machine", "give its input file");
  if (json.has("ranks") || json.has("hierarchy"))
    is_not_one("is a machine of Chorale already", "name it instead of a machine");
  is_not_one("is of no known format", ("known are " + known_formats()).c_str());
  return Format::Research;
}

// By what one format has and those asked after it have not: a matrix of nvidia-smi has no word of its own but
// GPU0, which other texts have too, and a file for ns-3 is numbers only.
Format format_of(const NamedText& file) {
  if (file.text.size() > kMostBytes)
    throw InputError(file.path, "has over 64 MiB", "describe one node a file");
  const std::size_t begin = file.text.find_first_not_of(kBlank);
  if (begin == std::string::npos) throw InputError(file.path, "is empty", "give a file with a machine in it");
  if (file.text[begin] == '<') {
    const XmlElement root = parse_xml(file.text, file.path);
    const std::string name = root.name();
    if (name == "system") return Format::Nccl;
    if (name == "graphs") return Format::NcclGraphs;
    if (name == "topology") return Format::Hwloc;
    root.fail("is of no known format", "known are " + known_formats());
  }
  if (file.text[begin] == '{' && is_slurm_topology(file.text)) return Format::Slurm;
  if (file.text[begin] == '{') return json_format(parse_json(file.text, file.path));
  if (file.text.find("npus_count") != std::string::npos) return Format::Research;
  if (file.text.find("between two GPUs") != std::string::npos) return Format::RocmSmi;
  if (is_slurm_topology(file.text)) return Format::Slurm;
  if (file.text.find("GPU0") != std::string::npos) return Format::NvidiaSmi;
  if (file.text[begin] >= '0' && file.text[begin] <= '9') return Format::Research;
  throw InputError(file.path, "is of no known format", "known are " + known_formats());
}

// Several files of these are the nodes of one machine.
bool is_of_a_node(Format format) {
  return format == Format::Nccl || format == Format::Hwloc || format == Format::NvidiaSmi ||
         format == Format::RocmSmi;
}

Host read_host(const NamedText& file, Format format, const ImportOptions& choices) {
  if (format == Format::Nccl) return read_nccl_xml(file.text, file.path, choices);
  if (format == Format::RocmSmi) return read_rocm_smi(file.text, file.path, choices);
  return format == Format::Hwloc ? read_hwloc_xml(file.text, file.path, choices)
                                 : read_nvidia_smi(file.text, file.path, choices);
}

// "dgx", of "files/dgx.xml".
std::string name_of_file(const std::string& path) {
  const std::string file = file_name(path);
  const std::string name = shown(file.substr(0, file.rfind('.'))).substr(0, 100);
  return name.empty() ? "imported" : name;
}

// Rates become integers of one unit, as close as `error` allows (topology/import/fit.h): schedules count
// chunks, and fractions of them would have no meaning.
Topology in_chunks(const Wiring& wiring, double error, Import& import) {
  Topology machine;
  machine.ranks =
      static_cast<int>(std::ranges::count(wiring.nodes, WiringNode::Kind::Gpu, &WiringNode::kind));
  machine.switches = static_cast<int>(wiring.nodes.size()) - machine.ranks;
  if (machine.switches > kMostRanks)
    throw InputError("machine", fmt::format("has {} switches", machine.switches),
                     fmt::format("import fewer nodes; {} switches are the most", kMostRanks));
  if (wiring.lines.size() > kMostImportedLinks)
    throw InputError("machine", "has over a million links", "import fewer nodes");
  // Rates are fitted together, the fastest first, since one unit has to serve all of them.
  std::map<double, int, std::greater<>> count;  // by rate
  for (const WiringLine& line : wiring.lines) ++count[line.gbs];
  std::map<double, int> bandwidth;
  import.unit_gbs = 1;
  if (!count.empty()) {
    std::vector<double> rates;
    for (const auto& [gbs, links] : count) rates.push_back(gbs);
    const RateFit fit = fitted(rates, error);
    import.unit_gbs = fit.unit_gbs;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      import.rates.push_back({rates[i], count[rates[i]], fit.units[i], fit.errors[i]});
      bandwidth[rates[i]] = fit.units[i];
    }
  }
  for (const WiringLine& line : wiring.lines)
    machine.links.push_back({.src = line.src,
                             .dst = line.dst,
                             .bandwidth = bandwidth.at(line.gbs),
                             .alpha_us = line.alpha_us,
                             .beta_us_per_byte = 1e-3 / import.unit_gbs});
  return machine;
}

// GPUs first, so that they are ranks: readers of machines without nodes add switches among them.
Wiring with_gpus_first(Wiring wiring) {
  std::vector<int> order(wiring.nodes.size()), number(wiring.nodes.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = static_cast<int>(n);
  std::ranges::stable_sort(order, {}, [&](int n) { return wiring.nodes[n].kind != WiringNode::Kind::Gpu; });
  std::vector<WiringNode> nodes;
  for (int n : order) {
    number[n] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(wiring.nodes[n]));
  }
  wiring.nodes = std::move(nodes);
  for (WiringLine& line : wiring.lines) {
    line.src = number[line.src];
    line.dst = number[line.dst];
  }
  return wiring;
}

// Equal nodes give equal sentences.
std::vector<std::string> each_once(const std::vector<std::string>& sentences) {
  std::vector<std::string> result;
  std::set<std::string> said;
  for (const std::string& sentence : sentences)
    if (said.insert(sentence).second) result.push_back(sentence);
  return result;
}

// No format states what NVSwitches and others do besides forwarding; what is known of the hardware does.
void describe_switches(Import& import, const ImportOptions& options) {
  if (options.in_network && !abilities_of(import.machine).any()) throw no_computing_switches("the machine");
  if (import.machine.switches > 0 && (options.forward_only || !abilities_of(import.machine).any()))
    import.assumed.push_back(fmt::format(
        "switches only forward: no copies, no sums ({})",
        options.forward_only ? "--switches-forward-only" : "--switches-multicast, --switches-reduce"));
}

const char* kind_in_words(WiringNode::Kind kind) {
  static constexpr const char* kKinds[] = {"GPU", "CPU", "PCI switch", "NVSwitch", "NIC", "network"};
  return kKinds[static_cast<int>(kind)];
}

// What the NVSwitches do beside these GPUs, where that is known.
void compute_in(Import& import, const Wiring& wiring, const ImportOptions& options) {
  Topology& machine = import.machine;
  std::vector<Node> able;
  for (Node n = machine.ranks; wiring.computing != nullptr && n < std::ssize(wiring.nodes); ++n)
    if (wiring.nodes[n].computes) able.push_back(n);
  if (able.empty()) return;
  const int divisor = compute_at(machine, able, *wiring.computing, options);
  import.unit_gbs /= divisor;
  for (FittedRate& rate : import.rates) rate.bandwidth *= divisor;
  if (options.forward_only) return;
  import.assumed.push_back(computing_in_words(*wiring.computing));
  const auto switches = std::ranges::count(wiring.nodes, WiringNode::Kind::NvSwitch, &WiringNode::kind);
  if (const auto others = switches - std::ssize(able); others > 0)
    import.assumed.push_back(fmt::format("{} of other GPUs only {}",
                                         counted(others, "NVSwitch", "NVSwitches"),
                                         others == 1 ? "forwards" : "forward"));
}

Import from_wiring(Wiring described, const ImportOptions& options) {
  Import import;
  const Wiring wiring = with_gpus_first(simplified(std::move(described)));
  import.machine = in_chunks(wiring, options.error, import);
  import.machine.call_us = wiring.call_us;
  for (const WiringNode& node : wiring.nodes) {
    std::vector<std::string> names = {node.name};
    names.insert(names.end(), node.nics.begin(), node.nics.end());
    import.machine.labels.push_back(
        {.kind = kind_in_words(node.kind), .name = fmt::format("{}", fmt::join(names, ", "))});
  }
  import.read = each_once(wiring.read);
  import.assumed = each_once(wiring.assumed);
  compute_in(import, wiring, options);
  describe_switches(import, options);
  return import;
}

Import from_machine(Topology machine, std::vector<std::string> read, std::vector<std::string> assumed) {
  Import import{.machine = std::move(machine), .read = std::move(read), .assumed = std::move(assumed)};
  for (Rank n = 0; n < import.machine.ranks; ++n)
    import.machine.labels.push_back({"rank", fmt::format("rank {}", n)});
  describe_switches(import, {});
  return import;
}

// The reader of machines has the last word: what it would refuse is not written.
void require_readable(const Topology& machine, const std::string& file) {
  if (topology_from_json(to_json(machine), "the machine of " + file) == machine) return;
  throw std::logic_error("an imported machine is read back as another one");
}

}  // namespace

Topology machine_of(const std::vector<Host>& hosts, const ImportOptions& options) {
  std::vector<Host> named = hosts;
  name_parts(named);
  return from_wiring(wiring_of(named, options.network_within_nodes), options).machine;
}

std::string known_formats() {
  return "NCCL's and RCCL's XML, nvidia-smi topo -m, rocm-smi --showtopo, hwloc's XML, Slurm's "
         "topology.conf and topology.yaml, topograph's labels of Kubernetes nodes, JSON of msccl-tools, "
         "TACCL and "
         "TE-CCL, and networks of ASTRA-sim and SimAI";
}

bool is_of_research(const NamedText& file) {
  return format_of(file) == Format::Research;
}

// Only Chorale's own format is JSON without one of the keys; all that is not JSON is another tool's, and
// imported() decides which.
bool is_foreign(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return false;
  if (text[begin] == '[') return false;
  if (text[begin] != '{') return true;
  return std::ranges::any_of(kForeignKeys, [&](const char* key) { return text.find(key) != text.npos; });
}

std::vector<Host> hosts_in(const std::vector<NamedText>& files, const ImportOptions& options) {
  std::vector<Host> hosts;
  for (const NamedText& file : files)
    if (const Format format = format_of(file); is_of_a_node(format))
      hosts.push_back(read_host(file, format, options));
  return hosts;
}

// One machine may come of several files: several nodes, or nodes and the switches between them (Slurm). Files
// of all other kinds stand alone.
Import imported(const std::vector<NamedText>& files, const ImportOptions& options, MachineChanges* changes) {
  if (options.nodes < 1 || !(options.error > 0 && options.error <= 0.5) || !(options.nic_gbits >= 0) ||
      !(options.nvlink_gbs >= 0))
    throw InputError("import", "a number is out of range",
                     "nodes are 1 or more, the error is above 0 and at most 0.5, rates are not negative");
  // What each file is. Graphs that NCCL chose are reported and passed over, so that a dump of both can be
  // given.
  std::vector<std::pair<const NamedText*, Format>> machines;
  std::vector<std::string> passed_over;
  for (const NamedText& file : files) {
    const Format format = format_of(file);
    if (format == Format::NcclGraphs)
      passed_over.push_back(
          file.path + ": <graphs> is ignored: rings and trees that NCCL chose are not part of the machine");
    else
      machines.push_back({&file, format});
  }
  if (machines.empty())
    throw InputError(files.empty() ? "import" : files.front().path,
                     "has no machine in it, only graphs that NCCL chose",
                     "give the file that NCCL_TOPO_DUMP_FILE names");
  const auto slurm = std::ranges::find(machines, Format::Slurm, [](const auto& each) { return each.second; });
  // Slurm's switches alone are a machine whose hosts are ranks; beside files of nodes they are its network.
  std::optional<SwitchTree> tree;
  if (slurm != machines.end()) {
    tree = read_slurm_topology(slurm->first->text, slurm->first->path);
    if (machines.size() == 1) {
      const NamedText& file = *slurm->first;
      if (options.nodes > 1)
        throw InputError("--nodes", file.path + " lists its hosts itself", "leave it out");
      Import import = from_wiring(wiring_of(*tree, file.path, options), options);
      import.nodes = import.machine.ranks;
      for (Rank n = 0; n < import.machine.ranks; ++n) import.machine.labels[n].kind = "host";
      import.machine.name = name_of_file(file.path);
      require_readable(import.machine, file.path);
      return import;
    }
    machines.erase(slurm);
  }
  const auto& [first, format] = machines.front();
  if (machines.size() > 1 || tree) {
    for (const auto& [file, its] : machines)
      if (!is_of_a_node(its))
        throw InputError(file->path, "describes a whole machine, and cannot be one of several nodes",
                         "import it alone");
    if (options.nodes > 1)
      throw InputError("--nodes", "is for one file that describes a node",
                       "leave it out: each file is a node");
  }
  Import import;
  if (is_of_a_node(format)) {
    std::vector<Host> hosts;
    std::vector<std::string> odd;
    for (const auto& [file, its] : machines) {
      hosts.push_back(read_host(*file, its, options));
      for (const Oddity& each : oddities(hosts.back())) odd.push_back(each.text);
    }
    if (options.nodes > kMostRanks)
      throw InputError("--nodes", fmt::format("{} is too many", options.nodes),
                       fmt::format("use at most {}", kMostRanks));
    if (tree && hosts.size() > 1 && hosts.size() != tree->hosts.size())
      throw InputError(first->path,
                       fmt::format("is one of {} nodes, and the switches have {}", hosts.size(),
                                   counted(std::ssize(tree->hosts), "host")),
                       "give one file for all nodes, or one for each");
    const std::size_t nodes = tree ? tree->hosts.size() : static_cast<std::size_t>(options.nodes);
    // One file of a node stands for all of them.
    hosts.resize(std::max(hosts.size(), nodes), hosts.front());
    std::vector<std::string> done;
    if (changes != nullptr) done = change_parts(hosts, *changes);
    name_parts(hosts);
    import = from_wiring(wiring_of(hosts, options.network_within_nodes, tree ? &*tree : nullptr), options);
    if (!done.empty()) import.machine.name += " " + joined(done);
    import.odd = each_once(odd);
    // Levels have equal nodes, so a number of nodes is stated only of such.
    const bool equal = done.empty() && std::ranges::all_of(hosts, [&](const Host& host) {
                         return host.count(HostPart::Kind::Gpu) == hosts.front().count(HostPart::Kind::Gpu);
                       });
    import.nodes = equal ? static_cast<int>(hosts.size()) : 0;
  } else if (format == Format::Research) {
    throw InputError(first->path,
                     "is a file of msccl-tools, TACCL, TE-CCL or ASTRA-sim, which the Python package reads",
                     "convert it first: chorale topology import FILE -o machine.json");
  } else {
    DescribedMachine described = read_wiring(first->text, first->path, options.network_within_nodes);
    if (options.nodes > 1 && options.nodes != described.copies)
      throw InputError("--nodes", first->path + " describes a whole machine itself", "leave it out");
    if (described.machine && options.in_network) throw no_computing_switches(first->path);
    import = described.machine ? from_machine(std::move(*described.machine), std::move(described.wiring.read),
                                              std::move(described.wiring.assumed))
                               : from_wiring(std::move(described.wiring), options);
    import.nodes = described.copies;
  }
  // Of switches that could do more it has been named already.
  const std::string forward_only = import.machine.name.starts_with(' ') ? import.machine.name : "";
  import.machine.name = name_of_file(first->path) +
                        (options.nodes > 1 ? fmt::format("-x{}", options.nodes) : "") + forward_only;
  import.read.insert(import.read.end(), passed_over.begin(), passed_over.end());
  require_readable(import.machine, first->path);
  return import;
}

}  // namespace chorale
