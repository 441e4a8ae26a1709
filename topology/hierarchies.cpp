// a100, v100 and rack are the systems of Xie et al. 2022 (P^2), with the paper's numbers; h100, pods and rail
// are of DGX H100, with those of topology/hardware/facts.h. `chorale hierarchy show NAME --json` prints them,
// to be replaced by better ones.
#include <algorithm>

#include "ir/error.h"
#include "ir/words.h"
#include "topology/builders.h"
#include "topology/hardware/facts.h"

namespace chorale {
namespace {

using Shape = LinkModel::Shape;

// Xie et al. 2022, figure 9 and section 5. A NIC of 100 Gb/s is taken to carry 8 GB/s, NVLinks nine tenths of
// their rate, a PCIe switch 32 GB/s. The paper times transfers so large that latency is lost; ours is of the
// usual order.
constexpr double kGcpNic = 8, kNvSwitchA100 = 270, kNvlinksV100 = 135, kPcie = 32;
constexpr double kPcie3 = 12, kSockets = 10;
constexpr double kNicLatency = 5, kNvlinkLatency = 1;

// 16 GPUs on an NVSwitch, one NIC.
Hierarchy a100(int nodes) {
  return {.levels = {{.name = "node",
                      .fan_out = nodes,
                      .link = {.bandwidth_gbs = kGcpNic, .latency_us = kNicLatency}},
                     {.name = "gpu",
                      .fan_out = 16,
                      .link = {.bandwidth_gbs = kNvSwitchA100,
                               .latency_us = kNvlinkLatency,
                               .exit = SharedPath{.bandwidth_gbs = kPcie, .children = 16}}}},
          .node_level = 1};
}

// 8 GPUs in a ring of NVLinks, half of them to either neighbour; two CPUs with four of them each, one NIC.
// GPUs that are not neighbours reach each other through the host's memory, with which the four of a CPU, one
// PCIe domain, share 16 lanes of the third generation. The rates of lanes and of the link between CPUs are
// those that NCCL assumes (its graph/topo.h; Skylake or later).
//
// The paper draws a PCIe switch for each pair and rates it at 32 GB/s. Were each of them joined with its CPU
// by lanes of its own, a ring over every second GPU of two nodes (its row E2) would wait for the NIC only,
// and take two thirds of what was measured.
Hierarchy v100(int nodes) {
  return {.levels = {{.name = "node",
                      .fan_out = nodes,
                      .link = {.bandwidth_gbs = kGcpNic, .latency_us = kNicLatency}},
                     {.name = "gpu",
                      .fan_out = 8,
                      .link = {.shape = Shape::Ring,
                               .bandwidth_gbs = kNvlinksV100 / 2,
                               .latency_us = kNvlinkLatency,
                               .host = HostPath{.uplink = {.bandwidth_gbs = kPcie3, .children = 4},
                                                .socket = {.bandwidth_gbs = kSockets, .children = 4}}}}},
          .node_level = 1};
}

// Or something beyond 2^20.
long long product(const std::vector<int>& sizes) {
  long long all = 1;
  for (int size : sizes) all = std::min(all * size, 1LL << 24);
  return all;
}

// DGX H100: 8 GPUs on an NVSwitch, and a NIC of 400 Gb/s per GPU.
class DgxH100 {
 public:
  explicit DgxH100(RateKind rates) : rates_(rates) {}

  Level gpus() const {
    return {
        .name = "gpu",
        .fan_out = 8,
        .link = {.bandwidth_gbs = gpu_.links * link_gbs(gpu_, rates_),
                 .latency_us = link_facts(gpu_.link).step_us,
                 .switch_gain = switch_gain(switch_facts(gpu_.nvswitch), gpu_, rates_),
                 .exit = SharedPath{.bandwidth_gbs = pci_gbs(pci_facts(gpu_.pci).gigatransfers, 16, rates_),
                                    .children = 1}}};
  }

  // What NICs of such nodes join; `networks` of them are on a path.
  // stream_gbs: a flow between two ranks takes one NIC, however many the tier joins.
  Level tier(const char* name, int fan_out, int ports, int networks = 1) const {
    const double nic = nic_gbs(network_, gpu_.nic_gbits, rates_);
    return {.name = name,
            .fan_out = fan_out,
            .link = {.bandwidth_gbs = nic,
                     .ports = ports,
                     .latency_us = networks * network_.step_us,
                     .stream_gbs = nic}};
  }

  Hierarchy nodes(int count) const { return {.levels = {tier("node", count, 8), gpus()}, .node_level = 1}; }

 private:
  const RateKind rates_;
  const GpuFacts& gpu_ = gpu_facts("H100");
  const NetworkFacts& network_ = network_facts("InfiniBand");
};

// Pods of racks of such nodes; racks have all their NICs as uplinks, pods half of them.
Hierarchy pods(const std::string& spec, const std::string& size, const DgxH100& dgx) {
  const std::vector<int> sizes = spec_sizes("hierarchy " + spec, size);
  if (sizes.size() != 3 || product(sizes) > 1 << 20)
    throw InputError("hierarchy " + spec, "needs three sizes with at most 2^20 nodes",
                     "use pods x racks x nodes, such as 4x8x4");
  const int nics = 8 * sizes[2];
  return {.levels = {dgx.tier("pod", sizes[0], std::max(1, nics * sizes[1] / 2), 3),
                     dgx.tier("rack", sizes[1], nics, 2), dgx.tier("node", sizes[2], 8), dgx.gpus()},
          .node_level = 3};
}

// Scalable units of N nodes on one leaf switch per rail, which spines join without a bottleneck: within its
// unit a GPU reaches those of its own rail, and others over NVLink; between units over the spines, any
// (NVIDIA DGX SuperPOD reference architecture, DGX H100).
Hierarchy rail(const std::string& spec, const std::string& size, const DgxH100& dgx) {
  const std::vector<int> sizes = spec_sizes("hierarchy " + spec, size);
  if (sizes.empty() || sizes.size() > 2 || product(sizes) > 1 << 16)
    throw InputError("hierarchy " + spec, "needs nodes, or units x nodes, at most 65,536 in all",
                     "use rail:8 or rail:4x32");
  Hierarchy h = dgx.nodes(sizes.back());
  h.levels.front().link.rails = true;
  if (sizes.size() == 1) return h;
  h.levels.insert(h.levels.begin(), dgx.tier("unit", sizes[0], 8 * sizes[1], 2));
  h.node_level = 2;
  return h;
}

// The running example of P^2: everything goes through the switch of each level.
Hierarchy rack(const std::string& spec, const std::string& size) {
  const std::vector<int> sizes = spec_sizes("hierarchy " + spec, size);
  if (sizes.size() != 4 || product(sizes) > 1 << 20)
    throw InputError("hierarchy " + spec, "needs four sizes with at most 2^20 devices",
                     "use racks x servers x cpus x gpus, such as 1x2x2x4");
  const auto tier = [](const char* name, int fan_out, double bandwidth, double latency) {
    return Level{
        .name = name, .fan_out = fan_out, .link = {.bandwidth_gbs = bandwidth, .latency_us = latency}};
  };
  return {
      .levels = {tier("rack", sizes[0], 12.5, 2 * kNicLatency), tier("server", sizes[1], 12.5, kNicLatency),
                 tier("cpu", sizes[2], 20, 2), tier("gpu", sizes[3], kPcie, kNvlinkLatency)},
      .node_level = 2};
}

}  // namespace

const std::vector<CatalogueEntry>& hierarchy_catalogue() {
  static const std::vector<CatalogueEntry> entries = {
      {"a100:nodes", "16 A100 on an NVSwitch and one NIC a node (Xie et al. 2022, figure 9a)", "a100:4"},
      {"v100:nodes", "8 V100 in a ring of NVLinks and one NIC a node (Xie et al. 2022, figure 9b)", "v100:4"},
      {"h100:nodes", "8 H100 on an NVSwitch and eight NICs a node", "h100:16"},
      {"pods:PxRxN", "pods of racks of H100 nodes, pods with half the uplinks", "pods:4x8x4"},
      {"rail:UxN", "rail-optimized units of N nodes of 8 H100: a leaf switch per rail, spines between units",
       "rail:2x2"},
      {"rack:RxSxCxG", "racks of servers of CPUs of GPUs, a switch each", "rack:1x2x2x4"},
  };
  return entries;
}

// "kind" or "kind:sizes"; the name of the result is the spec.
Hierarchy named_hierarchy(const std::string& spec, RateKind rates) {
  if (spec.size() > 100)
    throw InputError("hierarchy " + spec.substr(0, 60) + "...", "is not a machine",
                     "see 'chorale hierarchy list'");
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon),
                    size = colon == std::string::npos ? "" : spec.substr(colon + 1);
  const std::string where = "hierarchy " + spec.substr(0, 60);
  Hierarchy h;
  if (kind == "a100")
    h = a100(spec_size(where, size, 1, 1 << 16));
  else if (kind == "v100")
    h = v100(spec_size(where, size, 1, 1 << 16));
  else if (kind == "h100")
    h = DgxH100(rates).nodes(spec_size(where, size, 1, 1 << 16));
  else if (kind == "pods")
    h = pods(spec, size, DgxH100(rates));
  else if (kind == "rail")
    h = rail(spec, size, DgxH100(rates));
  else if (kind == "rack")
    h = rack(spec, size);
  else
    throw InputError(
        "hierarchy", "unknown name '" + spec.substr(0, 60) + "'",
        did_you_mean(kind, kinds(hierarchy_catalogue()),
                     "use a100:4, v100:4, h100:16, pods:4x8x4, rail:4x32, rack:1x2x2x4, or a JSON file"));
  h.name = spec;
  return h;
}

}  // namespace chorale
