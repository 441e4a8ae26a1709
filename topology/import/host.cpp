// GPUs of all nodes first, since they are ranks, and then the rest, node by node. The tree of PCI has one of
// two meanings: where cables do not join all GPUs, it is how GPUs reach each other, and all of it is kept;
// elsewhere it only leads from GPUs to NICs and back, over nodes of one direction each.
#include "topology/import/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "ir/disjoint_sets.h"
#include "ir/error.h"
#include "ir/limits.h"
#include "ir/words.h"
#include "topology/import/words.h"

namespace chorale {

namespace {

using PartKind = HostPart::Kind;

// A step from GPU to GPU of two nodes takes four hops of PCI and two ports.
double network_port_us(const std::string& network) {
  return (network_facts(network).step_us - 4 * kPciHopUs) / 2;
}

// One node of the cluster in the wiring. A part becomes a node of the wiring when it is first named.
class HostWiring {
 public:
  // number: of the node in the cluster.
  HostWiring(const Host& host, int number, Wiring& wiring, bool networked)
      : host_(host), number_(number), wiring_(wiring), networked_(networked), node_(host.parts.size(), -1) {
    wiring.call_us = std::max(wiring.call_us, host.call_us);
    // Of two generations the one that delivers more, so that bounds hold.
    const auto share = [](const GpuFacts* gpu) {
      return gpu == nullptr ? 0 : switch_facts(gpu->nvswitch).share;
    };
    if (share(host.computing) > share(wiring.computing)) wiring.computing = host.computing;
  }

  void add_gpus() {
    for (int p : host_.gpus()) node_[p] = wiring_.add(WiringNode::Kind::Gpu, host_.parts[p].name);
  }

  // Everything but the GPUs, which are numbered first; what is to be joined with the network is added to
  // the ports.
  void add_rest(std::vector<NetworkPort>& ports) {
    for (const HostCable& cable : host_.cables) {
      const bool direct = kind(cable.src) == PartKind::Gpu && kind(cable.dst) == PartKind::Gpu;
      wiring_.lines.push_back(
          {node_of(cable.src), node_of(cable.dst), cable.gbs, direct ? host_.step_us : host_.step_us / 2});
    }
    if (!is_joined_without_pci(host_))
      keep_pci(ports);
    else if (networked_)
      reach_network(ports);
  }

 private:
  PartKind kind(int part) const { return host_.parts[part].kind; }

  int node_of(int part) {
    if (node_[part] < 0) node_[part] = new_node(part, "");
    return node_[part];
  }

  int new_node(int part, const std::string& suffix) {
    const WiringNode::Kind as = kind(part) == PartKind::Cpu         ? WiringNode::Kind::Cpu
                                : kind(part) == PartKind::PciSwitch ? WiringNode::Kind::PciSwitch
                                : kind(part) == PartKind::NvSwitch  ? WiringNode::Kind::NvSwitch
                                : kind(part) == PartKind::Nic       ? WiringNode::Kind::Nic
                                                                    : WiringNode::Kind::Gpu;
    const int node = wiring_.add(as, host_.parts[part].name + suffix);
    wiring_.nodes[node].computes = as == WiringNode::Kind::NvSwitch && host_.computing != nullptr;
    return node;
  }

  // The whole tree becomes nodes of the wiring; simplified() takes out dead ends and what lies between just
  // two others.
  void keep_pci(std::vector<NetworkPort>& ports) {
    std::vector<int> cpus;
    for (std::size_t i = 0; i < host_.parts.size(); ++i) {
      const int p = static_cast<int>(i);
      const HostPart& part = host_.parts[p];
      if (part.kind == PartKind::NvSwitch || (part.kind == PartKind::Nic && !networked_)) continue;
      if (part.kind == PartKind::Cpu) cpus.push_back(p);
      if (part.parent >= 0) wiring_.join(node_of(p), node_of(part.parent), part.up_gbs, kPciHopUs);
      if (part.kind == PartKind::Nic)
        ports.push_back({number_, node_of(p), node_of(p), part.net_gbs, port_alpha(part)});
    }
    for (std::size_t a = 0; a < cpus.size(); ++a)
      for (std::size_t b = a + 1; b < cpus.size(); ++b)
        if (host_.parts[cpus[a]].box == host_.parts[cpus[b]].box)
          wiring_.join(node_of(cpus[a]), node_of(cpus[b]), host_.socket_gbs, kSocketHopUs);
    const PciFacts& pci = pci_facts(host_.pci);
    if (host_.pci > 0 && pci.peer_write_gbs > 0 && host_.count(PartKind::Gpu) > 1)
      wiring_.assumed.push_back(fmt::format(
          "GPUs load from each other over PCI of generation {}, at {} GB/s of 16 lanes; stores reach {}",
          pci.generation, pci.peer_read_gbs, pci.peer_write_gbs));
    if (host_.cables.empty()) return;
    wiring_.assumed.push_back(host_.cable_name +
                              " does not join all GPUs, so PCI between GPUs is kept, for all of them");
  }

  double port_alpha(const HostPart& nic) const {
    return nic.net_alpha_us > 0 ? nic.net_alpha_us : network_port_us(host_.network);
  }

  // The parts from one up to its CPU, itself first.
  std::vector<int> upwards(int part) const {
    std::vector<int> way;
    for (; part >= 0; part = host_.parts[part].parent) way.push_back(part);
    return way;
  }

  // The path through the tree, both ends included; between CPUs over the link of sockets.
  // Both climb to the root; the common part above the lowest common ancestor is dropped.
  std::vector<int> way(int a, int b) const {
    std::vector<int> from = upwards(a), to = upwards(b);
    while (from.size() > 1 && to.size() > 1 && from[from.size() - 2] == to[to.size() - 2]) {
      from.pop_back();
      to.pop_back();
    }
    if (from.back() == to.back()) to.pop_back();
    from.insert(from.end(), to.rbegin(), to.rend());
    return from;
  }

  int box_of(int part) const { return host_.parts[upwards(part).back()].box; }

  // A part and its parent, or two CPUs.
  double gbs_between(int a, int b) const {
    if (host_.parts[a].parent == b) return host_.parts[a].up_gbs;
    if (host_.parts[b].parent == a) return host_.parts[b].up_gbs;
    return host_.socket_gbs;
  }

  // Paths out and paths in, for each GPU and the NICs nearest to it, and for each NIC and the GPUs nearest to
  // it.
  void reach_network(std::vector<NetworkPort>& ports) {
    std::vector<int> gpus, nics;
    for (std::size_t p = 0; p < host_.parts.size(); ++p) {
      if (host_.parts[p].kind == PartKind::Gpu) gpus.push_back(static_cast<int>(p));
      if (host_.parts[p].kind == PartKind::Nic) nics.push_back(static_cast<int>(p));
    }
    // Nearest is by the number of parts on the path; of equally near ones all count. Both directions of the
    // question: a NIC that is no GPU's nearest still serves the GPUs nearest to it.
    std::set<std::pair<int, int>> pairs;
    const auto nearest = [&](int from, const std::vector<int>& to, bool from_gpu) {
      std::size_t least = std::numeric_limits<std::size_t>::max();
      const auto is_near = [&](int other) { return box_of(other) == box_of(from); };
      for (int other : to)
        if (is_near(other)) least = std::min(least, way(from, other).size());
      for (int other : to)
        if (is_near(other) && way(from, other).size() == least)
          pairs.insert(from_gpu ? std::pair(from, other) : std::pair(other, from));
    };
    for (int gpu : gpus) nearest(gpu, nics, true);
    for (int nic : nics) nearest(nic, gpus, false);
    // A hop that several pairs share is one link.
    std::set<std::pair<int, int>> hops;  // towards NICs
    for (const auto& [gpu, nic] : pairs) {
      const std::vector<int> parts = way(gpu, nic);
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) hops.insert({parts[i], parts[i + 1]});
    }
    std::map<int, std::pair<int, int>> both;  // by part: its nodes on paths out and on paths in
    const auto nodes_of = [&](int part) {
      if (kind(part) == PartKind::Gpu) return std::pair(node_[part], node_[part]);
      const auto [at, added] = both.try_emplace(part);
      if (added) {
        at->second.first = new_node(part, " out");
        at->second.second = new_node(part, " in");
      }
      return at->second;
    };
    for (const auto& [a, b] : hops) {
      const double alpha = kind(a) == PartKind::Cpu && kind(b) == PartKind::Cpu ? kSocketHopUs : kPciHopUs;
      wiring_.lines.push_back({nodes_of(a).first, nodes_of(b).first, gbs_between(a, b), alpha});
      wiring_.lines.push_back({nodes_of(b).second, nodes_of(a).second, gbs_between(a, b), alpha});
    }
    for (int nic : nics) {
      const HostPart& part = host_.parts[nic];
      ports.push_back({number_, nodes_of(nic).first, nodes_of(nic).second, part.net_gbs, port_alpha(part)});
    }
  }

  const Host& host_;
  const int number_;
  Wiring& wiring_;
  const bool networked_;
  std::vector<int> node_;  // of the wiring, by part; -1: none yet
};

std::string contents_of(const Host& host) {
  std::vector<std::string> words = {counted(host.count(PartKind::Gpu), "GPU")};
  const auto add = [&](PartKind kind, const std::string& one, const std::string& many) {
    if (host.count(kind) > 0) words.push_back(counted(host.count(kind), one, many));
  };
  add(PartKind::Nic, "NIC", "NICs");
  add(PartKind::NvSwitch, "NVSwitch", "NVSwitches");
  add(PartKind::PciSwitch, "PCI switch", "PCI switches");
  add(PartKind::Cpu, "CPU", "CPUs");
  return joined(words);
}

}  // namespace

bool is_joined_without_pci(const Host& host) {
  DisjointSets joined(static_cast<int>(host.parts.size()));
  const auto is_cpu = [&](int part) { return host.parts[part].kind == PartKind::Cpu; };
  for (const HostCable& cable : host.cables) {
    if (is_cpu(cable.src) || is_cpu(cable.dst)) return false;
    joined.join(cable.src, cable.dst);
  }
  std::set<int> groups;
  for (std::size_t p = 0; p < host.parts.size(); ++p)
    if (host.parts[p].kind == PartKind::Gpu) groups.insert(joined.find(static_cast<int>(p)));
  return groups.size() <= 1;
}

HostPart part_below(int parent, HostPart::Kind kind, std::string name, double up_gbs, std::string where) {
  return {
      .kind = kind, .name = std::move(name), .parent = parent, .up_gbs = up_gbs, .where = std::move(where)};
}

int Host::add(HostPart part) {
  parts.push_back(std::move(part));
  return static_cast<int>(parts.size()) - 1;
}

int Host::add(HostPart part, const std::string& id) {
  const auto [at, added] = known.try_emplace(id, static_cast<int>(parts.size()));
  if (added) add(std::move(part));
  return at->second;
}

int Host::find(const std::string& id) const {
  const auto at = known.find(id);
  return at == known.end() ? -1 : at->second;
}

void Host::join(int a, int b, double gbs) {
  cables.push_back({a, b, gbs});
  cables.push_back({b, a, gbs});
}

std::vector<int> Host::gpus() const {
  std::vector<int> all;
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (parts[p].kind == PartKind::Gpu) all.push_back(static_cast<int>(p));
  std::ranges::stable_sort(all, {}, [&](int p) { return parts[p].number; });
  return all;
}

int Host::count(HostPart::Kind kind) const {
  return static_cast<int>(std::ranges::count(parts, kind, &HostPart::kind));
}

void Host::take(const GpuFacts& gpu) {
  if (gpu.links > 0) step_us = link_facts(gpu.link).step_us;
  call_us = std::max(call_us, gpu.call_us);
  pci = std::max(pci, gpu.pci);
  if (*gpu.nvswitch != '\0') computing = &gpu;
}

// A cable has the rate of all its links: those of a GPU to the switch, or to its one partner.
void join_gpus(Host& host, Joint joint, const GpuFacts& gpu, const std::vector<int>& gpus,
               const ImportOptions& options, int links) {
  host.take(gpu);
  const double gbs = options.nvlink_gbs > 0 ? options.nvlink_gbs : link_gbs(gpu, rates_of(options));
  if (gpu.links > 0) host.note_above_line(link_facts(gpu.link), gbs);
  if (gpu.sm == 0) host.cable_name = "xGMI";
  const auto cable = [&](int a, int b, int of_links) { host.join(gpus[a], gpus[b], gbs * of_links); };
  const auto ring = [&](std::initializer_list<int> order) {
    for (std::size_t i = 0; i < order.size(); ++i)
      cable(order.begin()[i], order.begin()[(i + 1) % order.size()], links);
  };
  const int count = static_cast<int>(gpus.size());
  const auto each_two = [&](const auto& are_joined) {
    for (int a = 0; a < count; ++a)
      for (int b = a + 1; b < count; ++b)
        if (are_joined(a, b)) cable(a, b, links);
  };
  switch (joint) {
    case Joint::None:
      break;
    case Joint::NvSwitch: {
      const int hub = host.add({.kind = PartKind::NvSwitch, .name = "NVSwitch"});
      for (int part : gpus) host.join(part, hub, gbs * gpu.links);
      break;
    }
    case Joint::Dgx1:
      join_two_rings(cable);
      break;
    case Joint::Pairs:
      for (int a = 0; a + 1 < count; a += 2) cable(a, a + 1, gpu.links);
      break;
    case Joint::Mesh:
      each_two([](int, int) { return true; });
      break;
    case Joint::Ring:
      ring({0, 1, 3, 2});
      break;
    case Joint::TwoRings:
      ring({0, 1, 5, 3});
      ring({2, 4, 7, 6});
      break;
    case Joint::AllButOne:
      each_two([](int a, int b) { return (a ^ b) != 5; });
      break;
  }
}

void Host::note_above_line(const LinkFacts& link, double gbs) {
  if (gbs > link.line_gbs)
    assumed.push_back(
        fmt::format("{:g} GB/s of a link, as specified, is above the line rate of {}, {:g} GB/s", gbs,
                    link.name, link.line_gbs));
}

const char* rates_in_words(const ImportOptions& options) {
  return options.line_rates ? "rates are line rates"
                            : "rates are those that programs reach, below the line rate (--line-rates)";
}

Wiring wiring_of(const std::vector<Host>& hosts, bool within_nodes, const SwitchTree* tree) {
  Wiring wiring;
  int gpus = 0, nics = 0;
  for (const Host& host : hosts) {
    gpus += host.count(PartKind::Gpu);
    nics += host.count(PartKind::Nic);
    if (gpus > kMostRanks)
      throw InputError(host.file, fmt::format("makes more than {} GPUs", kMostRanks), "import fewer nodes");
    if (hosts.size() > 1 && host.count(PartKind::Nic) == 0)
      throw InputError(
          host.file, "has no NIC, so nothing joins its GPUs with other nodes",
          "import a single node, name its cloud type (--instance aws-p5), or use a file with its NICs");
  }
  if (gpus == 0) throw InputError(hosts.front().file, "has no GPU", "use a file of a machine that has some");
  // What all nodes have in common is reported once.
  std::map<std::string, int> times;
  for (const Host& host : hosts) ++times[host.file];
  const bool one_file = times.size() == 1;
  for (const Host& host : hosts) {
    if (times[host.file] == 0) continue;
    const std::string name = file_name(host.file);
    const std::string prefix = one_file ? "" : name + ": ";
    wiring.read.push_back(
        fmt::format("{}: {}{}", name, contents_of(host),
                    times[host.file] > 1 ? fmt::format("; {} such nodes", times[host.file]) : ""));
    times[host.file] = 0;
    for (const std::string& line : host.read) wiring.read.push_back(prefix + line);
    for (const std::string& line : host.assumed) wiring.assumed.push_back(prefix + line);
  }
  const bool networked = hosts.size() > 1;
  std::vector<HostWiring> parts;
  parts.reserve(hosts.size());
  for (const Host& host : hosts)
    parts.emplace_back(host, static_cast<int>(parts.size()), wiring, networked).add_gpus();
  std::vector<NetworkPort> ports;
  for (HostWiring& part : parts) {
    part.add_rest(ports);
    if (static_cast<int>(wiring.nodes.size()) > kMostWiringNodes)
      throw InputError(hosts.front().file,
                       fmt::format("makes more than {} GPUs and switches", kMostWiringNodes),
                       "import fewer nodes");
  }
  // A NIC below a PCI switch that is kept forwards in both directions, so paths would lead through the PCI of
  // other nodes.
  const bool keeps_pci = !std::ranges::all_of(hosts, is_joined_without_pci);
  if (tree != nullptr)
    join_network(wiring, ports, *tree);
  else if (networked)
    join_network(wiring, ports, static_cast<int>(hosts.size()), within_nodes || keeps_pci);
  else if (nics > 0)
    wiring.assumed.push_back(
        fmt::format("{} of the one node left out, since {} nowhere; --nodes N joins N such nodes",
                    counted(nics, "NIC is", "NICs are"), nics == 1 ? "it leads" : "they lead"));
  if (networked)
    wiring.assumed.push_back("a GPU reaches the network over the NICs nearest to it in the tree of PCI");
  const Host& first = hosts.front();
  wiring.assumed.push_back(fmt::format(
      "latencies (alpha) are those of such hardware, since the files have none: a link between GPUs {} us, a "
      "hop of PCI {}, a port of the network ({}) {}; a call costs {} us",
      first.step_us, kPciHopUs, first.network, network_port_us(first.network), wiring.call_us));
  return wiring;
}

// Numbers are the providers': https://learn.microsoft.com/azure/virtual-machines,
// https://aws.amazon.com/ec2/instance-types, https://docs.oracle.com/iaas/Content/Compute/References. NVLinks
// count as in dumps of NCCL on the same GPUs.

namespace {

using PartKind = HostPart::Kind;

// A row is a cloud type with what its files do not show. p5 has two rows, since files name it "p5." and
// "p5-".
struct Instance {
  const char* name;
  const char* in_file;  // what its files are called
  int gpus, nics;       // nics: as the files list them, which of OCI have a port or two of half the speed
  const char* gpu_id;   // PCI; empty: not distinguished from others
  const char* gpu;      // topology/hardware/facts.h
  Joint joint;
  double nic_gbits;
  const char* network;
};

constexpr Instance kInstances[] = {
    {"oci-gpu4", "gpu4.8", 8, 8, "10de:20b0", "A100", Joint::NvSwitch, 200, "RoCE"},
    {"oci-a100-v2", "a100-v2", 8, 8, "10de:20b2", "A100", Joint::NvSwitch, 200, "RoCE"},
    {"oci-h100", "gpu.h100", 8, 8, "10de:2330", "H100", Joint::NvSwitch, 400, "RoCE"},
    {"oci-h200", "gpu.h200", 8, 8, "10de:2335", "H200", Joint::NvSwitch, 400, "RoCE"},
    {"oci-b200", "gpu.b200", 8, 8, "10de:2901", "B200", Joint::NvSwitch, 400, "RoCE"},
    {"oci-mi300x", "gpu.mi300x", 8, 8, "1002:74a1", "MI300X", Joint::Mesh, 400, "RoCE"},
    {"azure-ndv2", "ndv2", 8, 1, "10de:1db5", "V100", Joint::Dgx1, 100, "InfiniBand"},
    {"azure-ndv4", "ndv4", 8, 8, "10de:20b0", "A100", Joint::NvSwitch, 200, "InfiniBand"},
    {"azure-ndv5", "ndv5", 8, 8, "10de:2330", "H100", Joint::NvSwitch, 400, "InfiniBand"},
    {"azure-ncv4", "ncv4", 4, 1, "10de:20b5", "A100", Joint::Pairs, 100, "RoCE"},
    {"aws-p3dn", "p3dn", 8, 1, "10de:1db5", "V100", Joint::Dgx1, 100, "EFA"},
    {"aws-p4d", "p4d-", 8, 4, "10de:20b0", "A100", Joint::NvSwitch, 100, "EFA"},
    {"aws-p4de", "p4de", 8, 4, "10de:20b2", "A100", Joint::NvSwitch, 100, "EFA"},
    {"aws-p5", "p5.", 8, 32, "10de:2330", "H100", Joint::NvSwitch, 100, "EFA 2"},
    {"aws-p5", "p5-", 8, 32, "10de:2330", "H100", Joint::NvSwitch, 100, "EFA 2"},
    {"aws-p5en", "p5en", 8, 16, "10de:2335", "H200", Joint::NvSwitch, 200, "EFA 2"},
    {"aws-p6-b200", "p6-b200", 8, 8, "10de:2901", "B200", Joint::NvSwitch, 400, "EFA 2"},
    {"azure-nd-mi300x", "mi300x", 8, 8, "1002:74b5", "MI300X", Joint::Mesh, 400, "InfiniBand"},
    {"aws-g5", "g5", 8, 1, "10de:2237", "RTX A6000", Joint::None, 100, "EFA"},
};

std::string names() {
  std::vector<std::string> all;
  for (const Instance& each : kInstances)
    if (all.empty() || all.back() != each.name) all.push_back(each.name);
  return joined(all);
}

const Instance& instance_named(const std::string& name) {
  for (const Instance& each : kInstances)
    if (name == each.name) return each;
  throw InputError("--instance", "'" + name.substr(0, 60) + "' is not known", "use one of " + names());
}

const Instance* instance_in_name(const std::string& path) {
  const std::string file = lower_case(file_name(path));
  for (const Instance& each : kInstances)
    if (file.find(each.in_file) != std::string::npos) return &each;
  return nullptr;
}

// The type, and why it is thought to be that: what the user says, then the file's name, then the counts of
// GPUs and NICs if they leave one type.
std::pair<const Instance*, std::string> instance_of(const PciSkeleton& skeleton, const std::string& named) {
  const Host& host = skeleton.host;
  if (!named.empty()) return {&instance_named(named), "as specified"};
  if (const Instance* const each = instance_in_name(host.file)) return {each, "by the file's name"};
  std::vector<const Instance*> fitting;
  for (const Instance& each : kInstances)
    if (each.gpus == host.count(PartKind::Gpu) && each.nics == host.count(PartKind::Nic) &&
        (skeleton.gpu_id.empty() || skeleton.gpu_id == each.gpu_id) &&
        (fitting.empty() || std::string(fitting.back()->name) != each.name))
      fitting.push_back(&each);
  if (fitting.size() == 1) return {fitting.front(), "by its GPUs and NICs"};
  throw InputError(host.file, "shows PCI only, and not what joins its GPUs",
                   "use --instance TYPE, one of " + names());
}

// A file of another machine would be completed wrongly without a word.
void require_gpus(const Host& host, const Instance& instance) {
  const int gpus = host.count(PartKind::Gpu);
  if (gpus != instance.gpus)
    throw InputError(host.file,
                     fmt::format("has {}, and {} has {}", counted(gpus, "GPU"), instance.name, instance.gpus),
                     "use --instance TYPE, one of " + names());
}

}  // namespace

// NVLinks join GPUs in the order of the file; NICs get the type's speed.
Host completed(PciSkeleton skeleton, const ImportOptions& options) {
  const auto [instance, why] = instance_of(skeleton, options.instance);
  Host& host = skeleton.host;
  const double nic = nic_gbs(network_facts(instance->network), instance->nic_gbits, rates_of(options));
  std::vector<int> gpus;
  for (std::size_t p = 0; p < host.parts.size(); ++p) {
    if (host.parts[p].kind == PartKind::Gpu) gpus.push_back(static_cast<int>(p));
    if (host.parts[p].kind == PartKind::Nic) host.parts[p].net_gbs = nic;
  }
  require_gpus(host, *instance);
  host.network = instance->network;
  join_gpus(host, instance->joint, gpu_facts(instance->gpu), gpus, options);
  const int links = gpu_facts(instance->gpu).links;
  const std::string joint =
      instance->joint == Joint::NvSwitch ? fmt::format("{} NVLinks to one NVSwitch each", links)
      : instance->joint == Joint::Dgx1   ? "NVLinks wired as in a DGX-1"
      : instance->joint == Joint::Mesh   ? "an xGMI link between each two"
      : instance->joint == Joint::Pairs  ? fmt::format("{} NVLinks between each two", links)
                                         : "no NVLinks";
  host.assumed.push_back(
      fmt::format("the file shows PCI only; it is taken for {} ({}): {} GPUs of type {}, {}, NICs of {} Gb/s",
                  instance->name, why, instance->gpus, instance->gpu, joint, instance->nic_gbits));
  return std::move(skeleton.host);
}

std::string bridged_instance(const std::string& file, const ImportOptions& options) {
  const Instance* const instance =
      options.instance.empty() ? instance_in_name(file) : &instance_named(options.instance);
  return instance != nullptr && instance->joint == Joint::Pairs ? instance->name : "";
}

// GPUs that share a NIC, or a GPU and its NICs, hang on a PCI switch of their own.
Host with_nics_of(Host host, const ImportOptions& options) {
  if (options.instance.empty()) return host;
  const Instance& instance = instance_named(options.instance);
  require_gpus(host, instance);
  if (host.count(PartKind::Nic) > 0) {
    host.read.push_back(fmt::format("nothing of {} is added: the file has NICs", instance.name));
    return host;
  }
  const std::vector<int> gpus = host.gpus();
  // Eight GPUs and four NICs: each for two neighbours. Eight and 32: four beside each GPU.
  const int sharing = std::max(1, instance.gpus / instance.nics),
            each = std::max(1, instance.nics / instance.gpus);
  const double gbits = options.nic_gbits > 0 ? options.nic_gbits : instance.nic_gbits;
  host.network = instance.network;
  for (std::size_t first = 0; first < gpus.size(); first += static_cast<std::size_t>(sharing)) {
    const int own_switch = static_cast<int>(host.parts.size());
    const double up = host.parts[gpus[first]].up_gbs;
    for (std::size_t g = first; g < std::min(gpus.size(), first + static_cast<std::size_t>(sharing)); ++g) {
      // What leads to the GPU from its CPU is hung on the new switch; GPUs that share it already have moved
      // with the first of them.
      int top = gpus[g];  // below a CPU, or below a switch that is new
      while (host.parts[top].parent >= 0 && host.parts[host.parts[top].parent].kind != PartKind::Cpu)
        top = host.parts[top].parent;
      if (g == first)
        host.parts.push_back(
            {PartKind::PciSwitch, fmt::format("PCI switch of GPU {}", g), host.parts[top].parent, 0, up});
      if (top < own_switch) host.parts[top].parent = own_switch;
    }
    for (int n = 0; n < each; ++n)
      host.parts.push_back({.kind = PartKind::Nic,
                            .name = fmt::format("NIC {}", first * static_cast<std::size_t>(each) + n),
                            .parent = own_switch,
                            .up_gbs = up,
                            .net_gbs = nic_gbs(network_facts(host.network), gbits, rates_of(options))});
  }
  host.assumed.push_back(
      fmt::format("the file lists no NICs; they are those of {}, as specified: {} of {} Gb/s, {}",
                  instance.name, instance.nics, gbits,
                  sharing > 1 ? fmt::format("one for {} neighbouring GPUs", sharing)
                              : fmt::format("{} beside each GPU", each)));
  return host;
}

}  // namespace chorale
