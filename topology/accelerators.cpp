// Rates and latencies are those of topology/hardware/facts.h: what programs reach, or on request the line
// rates. Rates of one machine are integers in one unit, each within 2 %.
#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "ir/error.h"
#include "ir/limits.h"
#include "ir/words.h"
#include "topology/builders.h"
#include "topology/hardware/facts.h"
#include "topology/import/fit.h"
#include "topology/switched_builder.h"

namespace chorale {
namespace {

// Nodes of equal GPUs, and a network with a NIC for each GPU, or for several.
struct Nodes {
  const char* name = "";
  const char* gpu = "";  // topology/hardware/facts.h
  int gpus = 8;          // of a node
  bool switched = true;  // on a non-blocking NVSwitch; else linked pair by pair, by one link
  const char* network = "InfiniBand";
  bool rails = true;  // a network switch per position in the node; else one for all
  const char* description = "";
  double nic_gbits = 0;  // 0: as the GPU has (topology/hardware/facts.h)
  int sharing = 1;       // GPUs of a NIC
};

// Sources, in the order of the rows:
// DGX H100 user guide: 8 H100, eight ConnectX-7 of 400 Gb/s.
// DGX B200 datasheet: 8 B200, eight ConnectX-7 of 400 Gb/s. DGX B300 datasheet: 8 B300, eight ConnectX-8 of
//   800 Gb/s.
// GB200 NVL72 datasheet: 72 GPUs in one NVLink domain; DGX GB200 user guide: four ConnectX-7 of 400 Gb/s per
//   tray of four GPUs. GB300 NVL72 datasheet: the same with ConnectX-8 of 800 Gb/s.
// EC2 P5 page: p5.48xlarge has 8 H100 and 3,200 Gb/s of EFA; p5en.48xlarge has H200 with the same. Azure's
// page of the ND H100 v5 series: 8 H100, eight InfiniBand ports of 400 Gb/s. Azure's page of the ND A100 v4
// series: 8 A100, eight InfiniBand ports of 200 Gb/s; EC2 P4 page: p4d.24xlarge
//   has 8 A100 and 400 Gb/s of EFA, which are four NICs; DGX-2 user guide: 16 V100, eight NICs of 100 Gb/s.
// AMD's data sheets of MI300X and MI355X: eight GPUs, linked pair by pair.
constexpr std::array kNodes = {
    Nodes{"dgx-h100", "H100", 8, true, "InfiniBand", true,
          "NVIDIA DGX H100: 8 GPUs a node on an NVSwitch, a NIC of 400 Gb/s per GPU on its rail"},
    Nodes{"b200", "B200", 8, true, "InfiniBand", true,
          "NVIDIA DGX B200: 8 GPUs a node on an NVSwitch, a NIC of 400 Gb/s per GPU on its rail"},
    Nodes{"b300", "B300", 8, true, "InfiniBand", true,
          "NVIDIA DGX B300: 8 GPUs a node on an NVSwitch, a NIC of 800 Gb/s per GPU on its rail"},
    Nodes{"gb200-nvl72", "GB200", 72, true, "InfiniBand", true,
          "NVIDIA GB200 NVL72: racks of 72 GPUs on NVLink switches, a NIC of 400 Gb/s per GPU on its rail"},
    Nodes{"gb300-nvl72", "GB300", 72, true, "InfiniBand", true,
          "NVIDIA GB300 NVL72: racks of 72 GPUs on NVLink switches, a NIC of 800 Gb/s per GPU on its rail"},
    Nodes{"p5", "H100", 8, true, "EFA 2", false,
          "Amazon p5.48xlarge: 8 H100 on an NVSwitch, EFA of 400 Gb/s per GPU"},
    Nodes{"p5en", "H200", 8, true, "EFA 2", false,
          "Amazon p5en.48xlarge: 8 H200 on an NVSwitch, EFA of 400 Gb/s per GPU"},
    Nodes{"nd-h100-v5", "H100", 8, true, "InfiniBand", false,
          "Azure ND H100 v5: 8 H100 on an NVSwitch, InfiniBand of 400 Gb/s per GPU"},
    Nodes{"nd-a100-v4", "A100", 8, true, "InfiniBand", false,
          "Azure ND A100 v4: 8 A100 on an NVSwitch, InfiniBand of 200 Gb/s per GPU"},
    Nodes{"p4d", "A100", 8, true, "EFA", false,
          "Amazon p4d.24xlarge: 8 A100 on an NVSwitch, EFA of 100 Gb/s for each two GPUs", 100, 2},
    Nodes{"hgx-2", "V100", 16, true, "InfiniBand", false,
          "NVIDIA HGX-2 (DGX-2): 16 V100 on NVSwitches, a NIC of 100 Gb/s for each two", 100, 2},
    Nodes{"mi300x", "MI300X", 8, false, "InfiniBand", true,
          "AMD MI300X: 8 GPUs a node, linked pair by pair, a NIC of 400 Gb/s per GPU on its rail"},
    Nodes{"mi355x", "MI355X", 8, false, "InfiniBand", true,
          "AMD MI355X: 8 GPUs a node, linked pair by pair, a NIC of 400 Gb/s per GPU on its rail"},
};

// A network for all ranks of all nodes, which have so many GPUs each. With rails, GPU i of each node is on
// switch i; without, all GPUs are on one switch, which does not block.
void add_network(SwitchedBuilder& b, const std::vector<int>& nodes, const Nodes& row, int units) {
  const double port_us = network_facts(row.network).step_us / 2;
  for (int rail = 0; rail < (row.rails ? *std::ranges::max_element(nodes) : 1); ++rail) {
    const Node hub = b.add_switch();
    for (int first = 0; const int gpus : nodes) {
      for (int i = rail; i < gpus; i += row.rails ? gpus : row.sharing)
        b.add_nic(first + i, std::min(row.sharing, gpus - i), hub, units, port_us);
      first += gpus;
    }
  }
}

// The two ports of a path through a switch share the cost of a step.
Topology nodes_of(const Nodes& row, const std::vector<int>& nodes, RateKind rates) {
  const GpuFacts& gpu = gpu_facts(row.gpu);
  const NetworkFacts& network = network_facts(row.network);
  std::vector<double> gbs = {link_gbs(gpu, rates) * (row.switched ? gpu.links : 1)};
  if (nodes.size() > 1)
    gbs.push_back(nic_gbs(network, row.nic_gbits > 0 ? row.nic_gbits : gpu.nic_gbits, rates));
  const RateFit fit = fitted(gbs, kNamedError);
  const double step_us = link_facts(gpu.link).step_us;
  SwitchedBuilder b(std::accumulate(nodes.begin(), nodes.end(), 0), fit.unit_gbs, gpu.call_us);
  for (int first = 0; const int gpus : nodes) {
    const Node hub = row.switched ? b.add_switch() : -1;
    for (int x = first; x < first + gpus; ++x) {
      if (row.switched) b.join(x, hub, fit.units[0], step_us / 2);
      for (int y = x + 1; !row.switched && y < first + gpus; ++y) b.join(x, y, fit.units[0], step_us);
    }
    first += gpus;
  }
  if (nodes.size() > 1) add_network(b, nodes, row, fit.units[1]);
  return b.machine();
}

// DGX Spark user guide: a GB10 with two ports of 200 Gb/s, cabled to two neighbours. Its NIC has two PCI
// links of four lanes, which are 200 Gb/s for both ports together (dgx-spark-playbooks 103).
Topology sparks(int n, RateKind rates) {
  const GpuFacts& gpu = gpu_facts("GB10");
  const NetworkFacts& network = network_facts("RoCE");
  SwitchedBuilder b(n, nic_gbs(network, gpu.nic_gbits, rates), gpu.call_us);
  for (Rank i = 0; i < (n == 2 ? 1 : n); ++i) b.join(i, (i + 1) % n, 1, network.step_us);
  Topology t = b.machine();
  if (n > 2) limit_ports(t, "NIC", 1, [](const Link&) { return true; });
  return t;
}

// A torus in row-major order whose wrap-around links of dimension d also advance by `twist[d][e]` in
// dimension e. `units[d]`: of its links; a side of two has one link in each direction.
Topology twisted_torus(const std::array<int, 3>& sides, const std::array<std::array<int, 3>, 3>& twist,
                       const std::array<int, 3>& units, double unit_gbs) {
  SwitchedBuilder b(sides[0] * sides[1] * sides[2], unit_gbs);
  const auto rank = [&](const std::array<int, 3>& at) {
    return (at[0] * sides[1] + at[1]) * sides[2] + at[2];
  };
  for (int x = 0; x < sides[0]; ++x)
    for (int y = 0; y < sides[1]; ++y)
      for (int z = 0; z < sides[2]; ++z)
        for (int d = 0; d < 3; ++d) {
          const std::array<int, 3> here = {x, y, z};
          std::array<int, 3> next = here;
          const bool wraps = here[d] + 1 == sides[d];
          if (wraps && sides[d] <= 2) continue;
          next[d] = (here[d] + 1) % sides[d];
          if (wraps)
            for (int e = 0; e < 3; ++e) next[e] = (next[e] + twist[d][e]) % sides[e];
          b.join(rank(here), rank(next), units[d], kDirect);
        }
  return b.machine();
}

// Jouppi et al. 2023 (TPU v4): a 3D torus of 50 GB/s per link and direction. With sides k, k, 2k or k, 2k, 2k
// it may be twisted: a link that wraps around a short side also advances by k along the long ones (Camara et
// al. 2010).
Topology tpu(const std::string& where, const std::string& text) {
  const std::size_t colon = text.find(':');
  const bool twisted = colon != std::string::npos;
  if (twisted && text.substr(colon + 1) != "twisted")
    throw InputError(where, "'" + text.substr(colon + 1, 40) + "' is not a form of it",
                     "use tpu:4x4x8:twisted, or leave it out");
  const std::vector<int> sizes = spec_sizes(where, text.substr(0, colon));
  if (sizes.size() != 3 || static_cast<long long>(sizes[0]) * sizes[1] > kMostRanks ||
      static_cast<long long>(sizes[0]) * sizes[1] * sizes[2] > kMostRanks ||
      static_cast<long long>(sizes[0]) * sizes[1] * sizes[2] < 2)
    throw InputError(where, "sides " + text.substr(0, 40) + " are not usable",
                     "use three sides with 2 to 4096 chips in all, such as 4x4x8");
  const int k = *std::ranges::min_element(sizes);
  std::array<std::array<int, 3>, 3> twist = {};
  if (twisted) {
    const auto is_long = [&](int side) { return side == 2 * k; };
    if (!std::ranges::all_of(sizes, [&](int side) { return side == k || is_long(side); }) ||
        std::ranges::none_of(sizes, is_long) || k < 3)
      throw InputError(where, "sides " + text.substr(0, colon) + " cannot be twisted",
                       "use k, k, 2k or k, 2k, 2k, with k 3 or more, such as 4x4x8 or 4x8x8");
    for (int d = 0; d < 3; ++d)
      for (int e = 0; e < 3; ++e)
        if (!is_long(sizes[d]) && is_long(sizes[e])) twist[d][e] = k;
  }
  return twisted_torus({sizes[0], sizes[1], sizes[2]}, twist, {1, 1, 1}, link_facts("ICI").gbs);
}

// AWS Neuron's page of the Trn2 architecture: 16 chips as a 4x4 torus with 1,024 GB/s per chip, four
// instances as rings with 256 GB/s per chip (both directions): 128 and 64 GB/s per link and direction.
Topology trn2(int instances) {
  return twisted_torus({instances, 4, 4}, {}, {1, 2, 2}, link_facts("NeuronLink 3").gbs);
}

// Kim et al. 2008: groups of a routers, all joined; p ranks and h links to other groups per router; a h + 1
// groups, each two joined by one link. All links are alike, 25 GB/s.
Topology dragonfly(const std::string& where, const std::string& text) {
  const std::vector<int> sizes = spec_sizes(where, text);
  if (sizes.size() != 3 || std::ranges::any_of(sizes, [](int size) { return size > 64; }) ||
      static_cast<long long>(sizes[0]) * sizes[1] * (sizes[0] * sizes[2] + 1) > kMostRanks)
    throw InputError(
        where, "sizes " + text.substr(0, 40) + " are not usable",
        "use routers of a group x ranks of a router x links of a router to other groups, with at "
        "most 4096 ranks, such as 4x2x2");
  const int a = sizes[0], p = sizes[1], h = sizes[2], groups = a * h + 1;
  SwitchedBuilder b(groups * a * p, 25);
  std::vector<Node> routers;
  for (int i = 0; i < groups * a; ++i) routers.push_back(b.add_switch());
  for (int i = 0; i < groups * a; ++i)
    for (int n = 0; n < p; ++n) b.join(i * p + n, routers[i], 1, kNetworkPort);
  for (int g = 0; g < groups; ++g) {
    for (int i = 0; i < a; ++i)
      for (int j = i + 1; j < a; ++j) b.join(routers[g * a + i], routers[g * a + j], 1, kNetworkPort);
    // The k-th global link of group g leads to group g + k + 1; of the other group it is the last but k.
    for (int k = 0; k < a * h; ++k)
      if (const int other = (g + k + 1) % groups; g < other)
        b.join(routers[g * a + k / h], routers[other * a + (a * h - 1 - k) / h], 1, kNetworkPort);
  }
  return b.machine();
}

}  // namespace

const std::vector<CatalogueEntry>& accelerator_catalogue() {
  static const std::vector<CatalogueEntry> entries = [] {
    std::vector<CatalogueEntry> all;
    for (const Nodes& row : kNodes) {
      const bool racks = row.gpus > 16;
      all.push_back({std::string(row.name) + (racks ? "[:racks[xgpus]]" : ":nodes[xgpus]"), row.description,
                     std::string(row.name) + (racks || !row.switched ? ":1" : ":2")});
    }
    all.push_back({"dgx-spark:n",
                   "NVIDIA DGX Spark: n of one GB10 in a ring, 200 Gb/s for its two ports together",
                   "dgx-spark:4"});
    all.push_back({"tpu:AxBxC[:twisted]", "Google TPU v4: a 3D torus of 50 GB/s per link, twisted on request",
                   "tpu:4x4x8:twisted"});
    all.push_back(
        {"trn2[:instances]",
         "Amazon Trn2: 4x4 torus of Trainium2 (128 GB/s per link), instances joined as rings (64 GB/s)",
         "trn2:4"});
    all.push_back({"dragonfly:AxPxH", "groups of A routers with P ranks and H links to other groups each",
                   "dragonfly:4x2x2"});
    return all;
  }();
  return entries;
}

namespace {

// Of "dgx-h100:2" the row of its name; null for other names.
const Nodes* row_of(const std::string& spec) {
  const auto row = std::ranges::find(kNodes, spec.substr(0, spec.find(':')), &Nodes::name);
  return row == kNodes.end() ? nullptr : &*row;
}

// GPUs of each node: of "dgx-h100:2" 8 and 8, of "dgx-h100:2x5" 5 and 5, of "dgx-h100:5+8" 5 and 8; without
// a number those of one node.
std::vector<int> nodes_in(const std::string& spec, int gpus_of_all) {
  const std::size_t colon = spec.find(':');
  if (colon == std::string::npos) return {gpus_of_all};
  const std::string where = "topology " + spec, text = spec.substr(colon + 1);
  std::vector<int> nodes;
  if (text.find('+') != std::string::npos) {
    for (const std::string& each : split(text, '+')) nodes.push_back(spec_size(where, each, 1, gpus_of_all));
  } else {
    const std::size_t x = std::min(text.find('x'), text.size());
    const int gpus = x < text.size() ? spec_size(where, text.substr(x + 1), 1, gpus_of_all) : gpus_of_all;
    nodes.assign(spec_size(where, text.substr(0, x), 1, kMostRanks / gpus), gpus);
  }
  if (std::accumulate(nodes.begin(), nodes.end(), 0) > kMostRanks)
    throw InputError(where, "has too many GPUs", "use at most " + std::to_string(kMostRanks));
  return nodes;
}

}  // namespace

ComputingNodes computing_nodes(const std::string& spec) {
  const Nodes* const row = row_of(spec);
  if (row == nullptr || !row->switched || *gpu_facts(row->gpu).nvswitch == '\0') return {};
  return {.gpu = &gpu_facts(row->gpu), .nodes = static_cast<int>(nodes_in(spec, row->gpus).size())};
}

std::string assumed_network(const std::string& spec) {
  const Nodes* const row = row_of(spec);
  if (row == nullptr || !row->rails) return "";
  const std::vector<int> nodes = nodes_in(spec, row->gpus);
  const auto [least, most] = std::ranges::minmax(nodes);
  if (least == most) return "";
  return fmt::format(
      "GPU i of each node is on rail i, so the NICs of a node's GPUs from number {} on reach larger nodes "
      "alone",
      least);
}

std::optional<Topology> accelerator_machine(const std::string& spec, RateKind rates) {
  if (const Nodes* const row = row_of(spec)) return nodes_of(*row, nodes_in(spec, row->gpus), rates);
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon), where = "topology " + spec;
  if (kind == "trn2") return trn2(colon == spec.npos ? 1 : spec_size(where, spec.substr(colon + 1), 1, 4));
  if (colon == std::string::npos) return std::nullopt;
  if (kind == "dgx-spark") return sparks(spec_size(where, spec.substr(colon + 1), 2, 64), rates);
  if (kind == "tpu") return tpu(where, spec.substr(colon + 1));
  if (kind == "dragonfly") return dragonfly(where, spec.substr(colon + 1));
  return std::nullopt;
}

}  // namespace chorale
