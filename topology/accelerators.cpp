// Rates are line rates of one direction, in GB/s of 1e9 bytes; latencies are of the usual order, since
// vendors publish none. Rates of one machine are integers in one unit: where that is not exact, the comment
// has the difference.
#include <algorithm>
#include <array>

#include "ir/error.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "topology/builders.h"
#include "topology/switched_builder.h"

namespace chorale {
namespace {

// Nodes of GPUs on a non-blocking NVSwitch, and a network with one unit per GPU.
struct SwitchedNodes {
  const char* name = "";
  int gpus = 8;  // of a node
  double unit_gbs = 50;
  int nvlink = 9;     // units of a GPU
  bool rails = true;  // a network switch per position in the node; else one for all
  const char* description = "";
};

// Sources, in the order of the rows:
// DGX H100 user guide: 18 NVLinks of 25 GB/s per GPU, eight ConnectX-7 of 400 Gb/s.
// DGX B200 datasheet: 1.8 TB/s of NVLink per GPU (both directions), eight ConnectX-7 of 400 Gb/s.
// GB200 NVL72 datasheet: 72 GPUs in one NVLink domain, 1.8 TB/s each (both directions); DGX GB200 user guide:
//   four ConnectX-7 of 400 Gb/s per tray of four GPUs.
// EC2 P5 page: p5.48xlarge has 8 H100 with 900 GB/s of NVLink (both directions) and 3,200 Gb/s of EFA;
//   p5en.48xlarge has H200 with the same.
// Azure's page of the ND H100 v5 series: 8 H100 with NVLink 4.0, eight InfiniBand ports of 400 Gb/s.
// Columns: name, GPUs of a node, GB/s of a unit, units of a GPU into the NVSwitch, rails.
constexpr std::array kSwitchedNodes = {
    SwitchedNodes{
        "dgx-h100", 8, 50, 9, true,
        "NVIDIA DGX H100: 8 GPUs a node on an NVSwitch (9 units), one NIC a GPU (1 unit) on its rail"},
    SwitchedNodes{
        "b200", 8, 50, 18, true,
        "NVIDIA DGX B200: 8 GPUs a node on an NVSwitch (900 GB/s), a NIC of 50 GB/s per GPU on its rail"},
    SwitchedNodes{
        "gb200-nvl72", 72, 50, 18, true,
        "NVIDIA GB200 NVL72: racks of 72 GPUs on NVLink switches (900 GB/s), a NIC of 50 GB/s per GPU"},
    SwitchedNodes{"p5", 8, 50, 9, false,
                  "Amazon p5.48xlarge: 8 H100 on an NVSwitch (450 GB/s), EFA of 50 GB/s per GPU"},
    SwitchedNodes{"p5en", 8, 50, 9, false,
                  "Amazon p5en.48xlarge: 8 H200 on an NVSwitch (450 GB/s), EFA of 50 GB/s per GPU"},
    SwitchedNodes{"nd-h100-v5", 8, 50, 9, false,
                  "Azure ND H100 v5: 8 H100 on an NVSwitch (450 GB/s), InfiniBand of 50 GB/s per GPU"},
};

// A network for all ranks of all nodes, one unit each.
// With rails, GPU i of each node on switch i; without, all GPUs on one switch, which does not block.
void add_network(SwitchedBuilder& b, int nodes, int per_node, int units, bool rails) {
  if (nodes == 1) return;
  for (int rail = 0; rail < (rails ? per_node : 1); ++rail) {
    const Node hub = b.add_switch();
    for (int n = rail; n < nodes * per_node; n += rails ? per_node : 1) b.join(n, hub, units, kNetworkPort);
  }
}

Topology switched_nodes(const SwitchedNodes& row, int nodes) {
  SwitchedBuilder b(row.gpus * nodes, row.unit_gbs);
  for (int node = 0; node < nodes; ++node) {
    const Node hub = b.add_switch();
    for (int g = 0; g < row.gpus; ++g) b.join(row.gpus * node + g, hub, row.nvlink, kNvlinkPort);
  }
  add_network(b, nodes, row.gpus, 1, row.rails);
  return b.machine();
}

// Eight GPUs that are linked pair by pair, and a NIC of 400 Gb/s per GPU on its rail.
struct MeshNodes {
  const char* name = "";
  double unit_gbs = 0;
  int link = 0, nic = 0;  // units
  const char* description = "";
};

// AMD's data sheets: seven Infinity Fabric links per GPU of 128 GB/s (MI300X) and 153.6 GB/s (MI355X), both
// directions together. In units: MI300X 62.5 for 64 GB/s, MI355X 75 for 76.8 GB/s, both 2.3 % less.
constexpr std::array kMeshNodes = {
    MeshNodes{
        "mi300x", 12.5, 5, 4,
        "AMD MI300X: 8 GPUs a node, linked pair by pair (62.5 GB/s), a NIC of 50 GB/s per GPU on its rail"},
    MeshNodes{
        "mi355x", 25, 3, 2,
        "AMD MI355X: 8 GPUs a node, linked pair by pair (75 GB/s), a NIC of 50 GB/s per GPU on its rail"},
};

Topology mesh_nodes(const MeshNodes& row, int nodes) {
  constexpr int kGpus = 8;
  SwitchedBuilder b(kGpus * nodes, row.unit_gbs);
  for (int node = 0; node < nodes; ++node)
    for (int x = 0; x < kGpus; ++x)
      for (int y = x + 1; y < kGpus; ++y) b.join(kGpus * node + x, kGpus * node + y, row.link, kDirect);
  add_network(b, nodes, kGpus, row.nic, true);
  return b.machine();
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
  return twisted_torus({sizes[0], sizes[1], sizes[2]}, twist, {1, 1, 1}, 50);
}

// AWS Neuron's page of the Trn2 architecture: 16 chips as a 4x4 torus with 1,024 GB/s per chip, four
// instances as rings with 256 GB/s per chip (both directions): 128 and 64 GB/s per link and direction.
Topology trn2(int instances) {
  return twisted_torus({instances, 4, 4}, {}, {1, 2, 2}, 64);
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
    for (const SwitchedNodes& row : kSwitchedNodes)
      all.push_back({std::string(row.name) + (row.gpus > 8 ? "[:racks]" : ":nodes"), row.description,
                     row.name + std::string(row.gpus > 8 ? ":1" : ":2")});
    for (const MeshNodes& row : kMeshNodes)
      all.push_back({std::string(row.name) + ":nodes", row.description, row.name + std::string(":1")});
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

std::optional<Topology> accelerator_machine(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon), where = "topology " + spec;
  const auto nodes = [&](int most) {
    return colon == std::string::npos ? 1 : spec_size(where, spec.substr(colon + 1), 1, most);
  };
  for (const SwitchedNodes& row : kSwitchedNodes)
    if (kind == row.name) return switched_nodes(row, nodes(kMostRanks / row.gpus));
  for (const MeshNodes& row : kMeshNodes)
    if (kind == row.name) return mesh_nodes(row, nodes(kMostRanks / 8));
  if (kind == "trn2") return trn2(nodes(4));
  if (colon == std::string::npos) return std::nullopt;
  if (kind == "tpu") return tpu(where, spec.substr(colon + 1));
  if (kind == "dragonfly") return dragonfly(where, spec.substr(colon + 1));
  return std::nullopt;
}

}  // namespace chorale
