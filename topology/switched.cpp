// A machine is a few loops over the builder (topology/switched_builder.h): ranks are numbered node by node,
// switches as they are added. Bandwidths are in units of the slowest link.
#include "ir/error.h"
#include "ir/limits.h"
#include "topology/builders.h"
#include "topology/hardware/facts.h"
#include "topology/import/fit.h"
#include "topology/switched_builder.h"

namespace chorale {
namespace {

// The NVLinks of one (25 GB/s each), and one NIC of 12.5 GB/s that all GPUs share.
Topology dgx1_nodes(int nodes) {
  // The rings of dgx1 (topology/builders.cpp). An NVLink is two units, half an NVLink one: the NIC.
  constexpr int kTwo[] = {0, 1, 4, 5, 6, 7, 2, 3}, kOne[] = {0, 2, 1, 3, 6, 4, 7, 5};
  SwitchedBuilder b(8 * nodes, 12.5);
  for (int node = 0; node < nodes; ++node)
    for (int i = 0; i < 8; ++i) {
      b.join(8 * node + kTwo[i], 8 * node + kTwo[(i + 1) % 8], 4, kDirect);
      b.join(8 * node + kOne[i], 8 * node + kOne[(i + 1) % 8], 2, kDirect);
    }
  const Node network = b.add_switch();
  for (int node = 0; node < nodes; ++node) b.add_nic(8 * node, 8, network);
  return b.machine();
}

// 150 GB/s per GPU into the NVSwitches, and a NIC of 12.5 GB/s for each pair of GPUs.
Topology dgx2_nodes(int nodes) {
  SwitchedBuilder b(16 * nodes, 12.5);
  for (int node = 0; node < nodes; ++node) {
    const Node hub = b.add_switch();
    for (int g = 0; g < 16; ++g) b.join(16 * node + g, hub, 12, kNvlinkPort);
  }
  const Node network = b.add_switch();
  for (int nic = 0; nic < 8 * nodes; ++nic) b.add_nic(2 * nic, 2, network);
  return b.machine();
}

// Sixteen dies, joined by one, two or four links (as RCCL's dumps of such nodes show), and a NIC of 200 Gb/s
// for each two.
Topology mi250(int nodes, RateKind rates) {
  constexpr int kLinks[][3] = {{0, 1, 4},   {0, 2, 1},   {0, 4, 2},   {1, 2, 1},  {1, 3, 1},  {1, 5, 1},
                               {2, 3, 4},   {2, 6, 1},   {3, 7, 2},   {4, 5, 4},  {4, 12, 1}, {5, 13, 1},
                               {5, 14, 1},  {6, 7, 4},   {6, 13, 1},  {6, 14, 1}, {7, 15, 1}, {8, 9, 4},
                               {8, 10, 1},  {8, 12, 2},  {9, 10, 1},  {9, 11, 1}, {9, 13, 1}, {10, 11, 4},
                               {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {14, 15, 4}};
  const GpuFacts& die = gpu_facts("MI250X");
  const double link = link_gbs(die, rates), step_us = link_facts(die.link).step_us;
  // Without NICs half a link is the unit: whole rings of half a link share the dies.
  const double narrowest = nodes > 1 ? nic_gbs(network_facts("InfiniBand"), 200, rates) : link / 2;
  const std::vector<double> gbs = {link, 2 * link, 4 * link, narrowest};
  const RateFit fit = fitted(gbs, kNamedError);
  SwitchedBuilder b(16 * nodes, fit.unit_gbs, die.call_us);
  for (int node = 0; node < nodes; ++node)
    for (const auto& [x, y, width] : kLinks)
      b.join(16 * node + x, 16 * node + y, width * fit.units[0], step_us);
  if (nodes == 1) return b.machine();
  const Node network = b.add_switch();
  for (int nic = 0; nic < 8 * nodes; ++nic) b.add_nic(2 * nic, 2, network, fit.units[3]);
  return b.machine();
}

// Al-Fares et al. 2008: k pods of k/2 edge and k/2 aggregation switches, k^2/4 core switches, k/2 hosts an
// edge switch.
Topology fat_tree(int k) {
  const int half = k / 2;
  SwitchedBuilder b(k * half * half, 25);
  // Aggregation switch i of every pod is linked with the same k/2 cores, those from i * k/2 on: so two hosts
  // of different pods have k^2/4 paths.
  std::vector<Node> cores;
  for (int i = 0; i < half * half; ++i) cores.push_back(b.add_switch());
  for (int pod = 0; pod < k; ++pod) {
    std::vector<Node> edges, aggregations;
    for (int i = 0; i < half; ++i) edges.push_back(b.add_switch());
    for (int i = 0; i < half; ++i) aggregations.push_back(b.add_switch());
    for (int i = 0; i < half; ++i)
      for (int j = 0; j < half; ++j) {
        b.join((pod * half + i) * half + j, edges[i], 1, kNetworkPort);
        b.join(edges[i], aggregations[j], 1, kNetworkPort);
        b.join(aggregations[i], cores[i * half + j], 1, kNetworkPort);
      }
  }
  return b.machine();
}

// Every leaf is linked with every spine; hosts : spines is the oversubscription.
Topology leaf_spine(int leaves, int hosts, int spines) {
  SwitchedBuilder b(leaves * hosts, 25);
  std::vector<Node> tops;
  for (int s = 0; s < spines; ++s) tops.push_back(b.add_switch());
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const Node at = b.add_switch();
    for (int h = 0; h < hosts; ++h) b.join(leaf * hosts + h, at, 1, kNetworkPort);
    for (Node top : tops) b.join(at, top, 1, kNetworkPort);
  }
  return b.machine();
}

Topology leaf_spine_of(const std::string& where, const std::string& size) {
  const std::vector<int> sizes = spec_sizes(where, size);
  if (sizes.size() != 3 || sizes[0] > kMostRanks || sizes[1] > kMostRanks || sizes[2] > 1024 ||
      static_cast<long long>(sizes[0]) * sizes[1] > kMostRanks ||
      static_cast<long long>(sizes[0]) * sizes[2] > 200'000)
    throw InputError(where, "sizes " + size.substr(0, 40) + " are not usable",
                     "use leaves x hosts of a leaf x spines with at most 4096 hosts, such as 4x8x2");
  return leaf_spine(sizes[0], sizes[1], sizes[2]);
}

}  // namespace

const std::vector<CatalogueEntry>& switched_catalogue() {
  static const std::vector<CatalogueEntry> entries = {
      {"dgx1:nodes", "DGX-1 nodes that have one NIC each (half an NVLink)", "dgx1:2"},
      {"dgx2:nodes", "DGX-2 nodes with eight NICs, each for two GPUs", "dgx2:2"},
      {"mi250:nodes", "AMD MI250X: 16 dies a node, joined by 1, 2 or 4 links, a NIC of 200 Gb/s for each two",
       "mi250:1"},
      {"fat-tree:k", "k^3/4 hosts on three tiers of k-port switches, full bisection", "fat-tree:4"},
      {"leaf-spine:LxHxS", "L leaf switches with H hosts each, linked with S spines; H:S oversubscribed",
       "leaf-spine:4x4x2"},
  };
  return entries;
}

std::optional<Topology> switched_machine(const std::string& spec, RateKind rates) {
  const std::size_t colon = spec.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string kind = spec.substr(0, colon), size = spec.substr(colon + 1), where = "topology " + spec;
  if (kind == "dgx1") return dgx1_nodes(spec_size(where, size, 2, 512));
  if (kind == "dgx2") return dgx2_nodes(spec_size(where, size, 2, 128));
  if (kind == "mi250") return mi250(spec_size(where, size, 1, 128), rates);
  if (kind == "leaf-spine") return leaf_spine_of(where, size);
  if (kind != "fat-tree") return std::nullopt;
  const int k = spec_size(where, size, 2, 24);
  if (k % 2 != 0)
    throw InputError(where, "size " + size.substr(0, 40) + " is odd", "use an even number of ports");
  return fat_tree(k);
}

}  // namespace chorale
