// Servers by name whose PCI counts, or whose GPUs are joined in a way of their own. They are described as the
// drivers describe a node (topology/import/host.h), so that a name and a file become a machine by one path.
#include <algorithm>
#include <array>

#include "ir/error.h"
#include "ir/limits.h"
#include "topology/builders.h"
#include "topology/import/host.h"
#include "topology/import/import.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

struct Box {
  const char* name = "";
  const char* gpu = "";  // topology/hardware/facts.h
  Joint joint = Joint::None;
  int links = 1;  // of a cable of a mesh or a ring
  // Switches of a CPU; GPUs of a switch, or of a CPU without. 0 CPUs: the name has all three.
  int cpus = 0, switches = 0, gpus = 1;
  int pci = 4;   // generation
  int nics = 1;  // of a node, as evenly over it as they go
  double nic_gbits = 100;
  const char* network = "InfiniBand";
  const char* description = "";
  const char* cpu = "";  // of SocketFacts; "": as servers with such GPUs have it
};

// Sources, in the order of the rows:
// Azure's page of the NDv2 series: 8 V100 of SXM2, two Xeon of Skylake, 100 Gb/s of InfiniBand; EC2 P3 page:
// p3dn.24xlarge has as many and 100 Gb/s of EFA. Azure's page of the NC A100 v4 series: up to 4 A100 of PCIe,
// and the files of such machines, which have a CPU for each. HGX A100 and HGX H100 datasheets: boards of four
// GPUs, all linked. RCCL's models of dumps (topo_expl): 4p1h, 8p_rome, 8p_pcie, 8p6l.
constexpr const char* kOlderCpu = "Intel, from Skylake on";
constexpr std::array kBoxes = {
    Box{"ndv2", "V100", Joint::Dgx1, 1, 2, 2, 2, 3, 1, 100, "InfiniBand",
        "Azure NDv2: 8 V100, wired as in a DGX-1, one NIC of 100 Gb/s"},
    Box{"p3dn", "V100", Joint::Dgx1, 1, 2, 2, 2, 3, 1, 100, "EFA",
        "Amazon p3dn.24xlarge: 8 V100, wired as in a DGX-1, EFA of 100 Gb/s"},
    Box{"nc-a100-v4", "A100", Joint::Pairs, 1, 4, 0, 1, 4, 1, 100, "RoCE",
        "Azure NC A100 v4: 4 A100 of PCIe, bridged in pairs"},
    Box{"hgx-a100-4", "A100", Joint::Mesh, 4, 2, 0, 2, 4, 4, 200, "InfiniBand",
        "HGX A100 of 4 GPUs, linked pair by pair (4 NVLinks), a NIC of 200 Gb/s per GPU"},
    Box{"hgx-h100-4", "H100", Joint::Mesh, 6, 2, 0, 2, 5, 4, 400, "InfiniBand",
        "HGX H100 of 4 GPUs, linked pair by pair (6 NVLinks), a NIC of 400 Gb/s per GPU"},
    Box{"mi50", "MI50", Joint::Ring, 1, 1, 1, 4, 3, 1, 100, "InfiniBand",
        "4 MI50 in a ring, one NIC of 100 Gb/s", kOlderCpu},
    Box{"mi50-rome", "MI50", Joint::TwoRings, 1, 2, 0, 4, 4, 1, 100, "InfiniBand",
        "8 MI50 in two rings over two CPUs, one NIC of 100 Gb/s"},
    Box{"mi100", "MI100", Joint::AllButOne, 1, 2, 0, 4, 4, 1, 100, "InfiniBand",
        "8 MI100, each linked with six others, one NIC of 100 Gb/s"},
    Box{"mi50-pcie", "MI50", Joint::None, 1, 0, 0, 1, 3, 1, 100, "InfiniBand",
        "MI50 on PCI 3: CPUs x PCI switches of a CPU (0: none) x GPUs of one", kOlderCpu},
    Box{"pcie", "L40S", Joint::None, 1, 0, 0, 1, 4, 1, 100, "InfiniBand",
        "GPUs on PCI 4 alone: islands x GPUs of one; or CPUs x PCI switches of a CPU (0: none) x GPUs of "
        "one"},
    Box{"l40s", "L40S", Joint::None, 1, 0, 0, 1, 4, 1, 200, "InfiniBand",
        "L40S on PCI 4: CPUs x PCI switches of a CPU (0: none) x GPUs of one"},
    Box{"a800-pcie", "A800", Joint::None, 1, 0, 0, 1, 4, 1, 200, "InfiniBand",
        "A800 on PCI 4, no bridges: CPUs x PCI switches of a CPU (0: none) x GPUs of one"},
    Box{"rtx-4090", "RTX 4090", Joint::None, 1, 0, 0, 1, 4, 1, 100, "InfiniBand",
        "RTX 4090 on PCI 4: CPUs x PCI switches of a CPU (0: none) x GPUs of one"},
    Box{"rtx-5090", "RTX 5090", Joint::None, 1, 0, 0, 1, 5, 1, 400, "InfiniBand",
        "RTX 5090 on PCI 5: CPUs x PCI switches of a CPU (0: none) x GPUs of one"},
    Box{"rtx-pro-6000", "RTX PRO 6000", Joint::None, 1, 0, 0, 1, 5, 1, 400, "InfiniBand",
        "RTX PRO 6000 on PCI 5: CPUs x PCI switches of a CPU (0: none) x GPUs of one"},
};

Host host_of(const Box& box, const ImportOptions& options) {
  const char* const cpus = *box.cpu != '\0' ? box.cpu : gpu_facts(box.gpu).cpu;
  Host host{.file = box.name, .socket_gbs = socket_facts(cpus).gbs, .network = box.network};
  const double up = pci_gbs(pci_facts(box.pci).gigatransfers, 16, rates_of(options));
  std::vector<int> gpus, above;
  for (int c = 0; c < box.cpus; ++c) {
    const int cpu = host.add({.kind = PartKind::Cpu, .name = "cpu " + std::to_string(c)});
    for (int s = 0; s < std::max(1, box.switches); ++s) {
      const int at = box.switches == 0 ? cpu : host.add({PartKind::PciSwitch, "PCI switch", cpu, 0, up});
      above.push_back(at);
      for (int g = 0; g < box.gpus; ++g) {
        const int number = static_cast<int>(gpus.size());
        gpus.push_back(host.add({PartKind::Gpu, "gpu" + std::to_string(number), at, number, up}));
      }
    }
  }
  const double net = nic_gbs(network_facts(box.network), box.nic_gbits, rates_of(options));
  for (int n = 0; n < box.nics; ++n)
    host.add(
        {.kind = PartKind::Nic,
         .name = "nic" + std::to_string(n),
         .parent = above[static_cast<std::size_t>(n) * above.size() / static_cast<std::size_t>(box.nics)],
         .up_gbs = up,
         .net_gbs = net});
  join_gpus(host, box.joint, gpu_facts(box.gpu), gpus, options, box.links);
  return host;
}

// "2x1x4", or with a number of nodes before it "3x2x1x4". "2x4" is islands of GPUs, each below a PCI switch:
// half of them at each of two CPUs, or all at one where their number is odd.
int take_sizes(Box& box, const std::string& where, const std::string& text) {
  constexpr const char* kRemedy =
      "use islands x GPUs of one, such as 2x4, or CPUs x PCI switches of a CPU x GPUs of one, such as 2x1x4, "
      "with nodes before them 2x2x1x4, and 2 to 4096 GPUs in all";
  if (text.empty()) throw InputError(where, "sizes are missing", kRemedy);
  std::vector<int> sizes;
  std::string rest = text;
  for (std::size_t end; !rest.empty(); rest = end == rest.npos ? "" : rest.substr(end + 1)) {
    end = rest.find('x');
    // No switches is a number as well, which spec_sizes() does not take.
    const std::string one = rest.substr(0, end);
    sizes.push_back(one == "0" ? 0 : spec_size(where, one, 1, kMostRanks));
  }
  if (sizes.size() == 2 && sizes[0] > 0)
    sizes = {sizes[0] % 2 == 0 ? 2 : 1, sizes[0] % 2 == 0 ? sizes[0] / 2 : sizes[0], sizes[1]};
  const std::size_t n = sizes.size();
  const bool usable = (n == 3 || n == 4) && sizes[n - 3] > 0 && sizes[n - 1] > 0 && sizes[0] > 0;
  long long ranks = 1;
  for (const int size : sizes) ranks = std::min<long long>(ranks * std::max(size, 1), kMostRanks + 1);
  if (!usable || ranks > kMostRanks || ranks < 2)
    throw InputError(where, "sizes " + text.substr(0, 40) + " are not usable", kRemedy);
  box.cpus = sizes[n - 3];
  box.switches = sizes[n - 2];
  box.gpus = sizes[n - 1];
  return n == 4 ? sizes[0] : 1;
}

}  // namespace

const std::vector<CatalogueEntry>& box_catalogue() {
  static const std::vector<CatalogueEntry> entries = [] {
    std::vector<CatalogueEntry> all;
    for (const Box& box : kBoxes) {
      const std::string name = box.name;
      all.push_back(box.cpus > 0
                        ? CatalogueEntry{name + "[:nodes]", box.description, name}
                        : CatalogueEntry{name + ":IxG|[nodesx]CxSxG", box.description, name + ":2x1x4"});
    }
    return all;
  }();
  return entries;
}

std::optional<Topology> box_machine(const std::string& spec, RateKind rates) {
  const std::size_t colon = spec.find(':');
  const auto* const row = std::ranges::find(kBoxes, spec.substr(0, colon), &Box::name);
  if (row == kBoxes.end()) return std::nullopt;
  Box box = *row;
  const std::string where = "topology " + spec, size = colon == spec.npos ? "" : spec.substr(colon + 1);
  const int gpus = box.cpus * std::max(1, box.switches) * box.gpus;
  const int nodes = box.cpus == 0        ? take_sizes(box, where, size)
                    : colon == spec.npos ? 1
                                         : spec_size(where, size, 1, kMostRanks / gpus);
  const ImportOptions options = {.line_rates = rates == RateKind::Line};
  return machine_of({static_cast<std::size_t>(nodes), host_of(box, options)}, options);
}

}  // namespace chorale
