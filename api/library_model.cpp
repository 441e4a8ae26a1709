// The model has the form of NCCL's own (src/graph/tuning.cc): for each algorithm and protocol a latency, by
// steps inside of nodes and between them, and a bandwidth; the least time is taken. Three things differ,
// since NCCL's model chooses and this one is to be right about the time as well. Bandwidths are those of the
// machine (rates of topology/hardware/facts.h) and not of NCCL's search for channels. A message that takes x
// at that bandwidth also fills and drains a pipeline whose chunks grow with it: k sqrt(x) more. And what a
// call costs beside its base latency is fitted.
//
// "fit" is on the tables of even index in tests/data/measured/curves.jsonl, without three:
// l40s-2n-1gpu-ar-socket, which its note calls doubtful, and dgx2-12gpu-reducescatter and p5-2n-ar-eks-2.18,
// of older versions, which the form of the model misses. It minimizes the mean absolute logarithm of
// predicted over measured time, each table with the square root of its rows, by random search. The form
// itself was chosen with all tables in sight. "NCCL" is 2.28.
#include "api/library_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>

#include "bounds/cuts.h"
#include "construct/baselines/rings.h"
#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/row_named.h"
#include "ir/words.h"
#include "topology/hardware/facts.h"
#include "topology/hardware/peer_access.h"

namespace chorale {
namespace {

using Call = LibraryCall;

enum LibraryProtocol { kLL, kLL128, kSimple };
constexpr std::array kProtocolNames = {"LL", "LL128", "Simple"};
constexpr std::array kProtocols = {kLL, kLL128, kSimple};
using PerProtocol = std::array<double, 3>;  // LL, LL128, Simple

// Microseconds; NCCL, baseLatencies and hwLatencies.
struct StepLatencies {
  PerProtocol tree = {}, ring = {};
};
constexpr StepLatencies kBase{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
constexpr StepLatencies kOverNvlink{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr StepLatencies kOverPci{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
constexpr StepLatencies kOverNetwork{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}};
constexpr PerProtocol kNetworkPost{
    1, 1, 3};  // of a step inside of a node where there are several; NCCL, netOverhead
constexpr double kPatBase = 8, kPatPerRank = 2.8, kPatSpeedup = 3.5, kPatPart = 0.75;  // NCCL

// What a tree keeps of its bandwidth at 64 B, 128 B, ...; NCCL, treeCorrectionFactor.
constexpr std::array<std::array<double, 23>, 3> kTreePart{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

// GB/s that LL reaches on one node, two, more; NCCL, llMaxBws, which has one bandwidth for any number of
// channels; AMD's as Ampere's. Of it a part is reached: fit.
struct GenerationRow {
  const char* family = "";
  std::array<double, 3> ll_gbs = {};
  double call_us =
      0;  // beside the base latency; fit: azure-h100-1n-ar, h20-2n-ar-nvlstree-small, a100-1n-ar-howto
};
constexpr double kPartOfLL = 0.7;
constexpr GenerationRow kGenerations[] = {
    {"Hopper", {141, 45, 35}, 9.5}, {"Blackwell", {282, 90, 70}, 9.5}, {"Ampere", {87.7, 22.5, 19}, 5.5},
    {"Ada", {87.7, 22.5, 19}, 0},   {"", {39, 39, 20.4}, 0},  // older ones
};
// GPUs that NVLink joins to their CPU start and end a call without PCI: fit on gh200-2n-ar-olivia.
constexpr double kCallUsOfGrace = 4;
constexpr GenerationRow kAmd{"", {90, 40, 35}, 0};

// k of k sqrt(x), x in microseconds; fit.
constexpr double kFillInNode = 1.4, kFillAcross = 4.9, kFillNvls = 3.2, kFillNvlsTree = 8;
constexpr double kFillP2pInNode = 1.75, kFillP2pAcross = 1.1;

// Latencies of NVLS and NVLSTree, and of a step of the tree between nodes; fit. NCCL has 25, 33 and 20.9.
constexpr double kNvlsUs = 22.3, kNvlsTreeUs = 19.3, kNvlsTreeStepUs = 8.8;
// A step over PCI, from GPU to GPU; NCCL, tree with LL.
constexpr double kPciStepUs = 1;
// NCCL takes NVLS from five GPUs on: mleng-h200-4gpu-ar and mleng-h200-5gpu-ar.
constexpr int kMinRanksOfNvls = 5, kMinRanksOfNvlsTree = 8;
// busbw over algbw of eight GPUs, at which the shares of switches were measured (topology/hardware/facts.h).
constexpr double kNvlsBusFactor = 1.75;
// More than two nodes: inner nodes of the tree receive twice, and the pipeline fills once for each level.
// NCCL takes this tree there, since its constants for channels promise more (80 GB/s of each), but for small
// messages. No even table has it: Hopper's part is as NCCL's constants (45.5 of 57.7 GB/s), Blackwell's is a
// half, as the odd cw-gb200-1440-ar shows, which also chose that levels multiply the filling.
constexpr std::int64_t kNvlsTreeFromBytes = 4 << 20;
constexpr double kNvlsTreePartOfHopper = 0.8, kNvlsTreePartOfBlackwell = 0.5;

// Starts of a GPU from one process, microseconds: a floor where there are more than two; and of each beyond
// eight; fit (the second on dgx2-12gpu-broadcast).
constexpr double kStartUs = 6.1, kFurtherStartUs = 3;
// Sends to each peer: a base over that of the GPU; what each further peer costs between nodes; fit.
constexpr double kP2pUs = 3, kPeerUs = 0.8;
// Part of a GPU's rate that sends reach: NVLink, xGMI, one neighbour through a switch, and over the links of
// a mesh; fit on gb300-*-a2a (NVLink), mi355x-1n-a2a-oci, a100-8gpu-sendrecv; the last: odd
// leonardo-2gpu-sendrecv alone.
constexpr double kAlltoallPart = 0.94, kAlltoallPartOfAmd = 0.9, kNeighbourPart = 0.83, kMeshPart = 0.93;
// Part of the rate of PCI: direct, and through the memory of the host; fit on rtx5090-8gpu-ar-max (the
// second).
constexpr double kDirectPci = 40.8 / 52, kThroughHost = 27.84 / 52;  // of PCI 5
// Through the host, several sockets have at most the rate of Intel's between them
// (topology/hardware/facts.h), before PCI 5. Without GPUDirect a GPU alone on its node moves what T4 do
// (g4dn-2n-ar-t4, odd), and several a part of the NICs.
constexpr double kPartOfSockets = 0.58;
constexpr double kAloneThroughHostGbs = 3.2, kPartThroughHost = 0.75;
// What a step over EFA of the first generation costs more where several GPUs of a node take it: fit on
// p4de-2n-ar, 160.6 us with two of them, 14 NVLinks, a call.
constexpr double kSharedEfaUs = 42;
// Part of the rate of PCI where a GPU and its NIC are below different switches: fit on h200-2n-1gpu-ag-gib.
constexpr double kFarNicsPart = 0.63;
// Part of the rate of a ring where a shard is a multiple of 8 bytes, but not of 16, and of 4 alone: what
// loads and stores of 16 bytes copy is copied by smaller ones. Fit on dgx2-12gpu-reducescatter.
constexpr double kPartOf8Bytes = 0.5, kPartOf4Bytes = 0.38;
// RCCL has schedules of its own for eight GPUs of CDNA 3
// (tools/msccl-algorithms/allreduce-allpairs-8n-*.xml): each sends to all others, ReduceScatter and
// Allgather. Part of the links that they reach: fit on mi300x-vf-1n-ar-azure.
constexpr std::int64_t kAllPairsLLBelow = 512 << 10, kAllPairsUpTo = 11 << 20;
constexpr double kAllPairsPart = 0.75;

// What a version of the library has: NCCL's sources, by tag. RCCL counts as NCCL does.
enum LibraryVersion {
  kHasLL128 = 205,
  kHasNvls = 217,
  kHasNvlsTree = 218,
  kHasPat = 223,
  kHasC2cLL128 = 227
};
constexpr int kNewestVersion = 1'000;
// What one GPU moves over NICs, at most: GPUs of PCI 5 reach 49 (fit on h100-2n-1gpu-ar-tree-4nic).
constexpr double kMostOfOneGpuGbs = 49;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The facts as the formulas need them. Rates are GB/s per direction.
struct Modelled {
  const GpuFacts& gpu;
  GenerationRow generation = {};
  bool amd = false;
  Joined joined = Joined::Switch;
  int gpus = 1, nodes = 1;
  double rate = 0;        // of a GPU within its node
  double pair_rate = 0;   // from one GPU to one other
  double nics = 0;        // of a node
  double network_us = 0;  // the least of a step between nodes
  double extra_us = 0;    // of a step between nodes, beyond NCCL's
  double step_us = 0;     // between nodes
  double share = 0;       // of switches that add; 0: none do
  int version = kNewestVersion;

  int ranks() const { return gpus * nodes; }
  bool is_one_node() const { return nodes == 1; }
  bool by_nvlink() const { return joined == Joined::Switch || joined == Joined::Mesh || gpus == 1; }
};

GenerationRow generation_of(const GpuFacts& gpu) {
  if (gpu.sm == 0) return kAmd;
  for (const GenerationRow& row : kGenerations)
    if (std::string_view(gpu.family) == row.family || *row.family == '\0') return row;
  return {};
}

const GpuFacts& known_gpu(const std::string& name) {
  return row_named(gpu_table(), "GPU", name, "name");
}

const NetworkFacts& known_network(const std::string& name) {
  return row_named(network_table(), "network", name.empty() ? "InfiniBand" : name, "name");
}

// "2.18": 218. The digits after the second dot change no constants.
int version_of(const std::string& text) {
  if (text.empty()) return kNewestVersion;
  const std::size_t dot = text.find('.');
  const std::string minor =
      dot == std::string::npos ? "" : text.substr(dot + 1, text.find('.', dot + 1) - dot - 1);
  const auto is_number = [](const std::string& digits) {
    return !digits.empty() && digits.size() < 3 &&
           digits.find_first_not_of("0123456789") == std::string::npos;
  };
  if (text.substr(0, dot) != "2" || !is_number(minor))
    throw InputError("library version", "'" + text.substr(0, 40) + "' is not one of NCCL or RCCL",
                     "use 2.18 or the like");
  return 200 + std::stoi(minor);
}

void require_known(const char* kind, const std::string& name, std::vector<std::string> known) {
  if (!name.empty() && std::ranges::find(known, name) == known.end())
    throw unknown_name(kind, name, known, "name");
}

Joined joint_of(const LibraryMachine& machine, const GpuFacts& gpu) {
  if (machine.joined) return *machine.joined;
  if (gpu.links == 0) return Joined::Pci;
  return gpu.sm == 0 ? Joined::Mesh : Joined::Switch;
}

int pci_generation(const LibraryMachine& machine, const Modelled& m) {
  return machine.pci > 0 ? machine.pci : m.gpu.pci;
}
double pci_of(const LibraryMachine& machine, const Modelled& m) {
  return pci_facts(pci_generation(machine, m)).gbs;
}

void set_rates(const LibraryMachine& machine, Modelled& m) {
  const int generation = pci_generation(machine, m);
  if (m.joined == Joined::Switch || m.joined == Joined::Mesh) {
    m.rate = link_gbs(m.gpu, RateKind::Effective) * (machine.links > 0 ? machine.links : m.gpu.links);
    // Meshes are full among four GPUs of NVIDIA's and eight of AMD's: of fewer, links to the others are idle.
    const int peers = m.amd ? 7 : 3;
    const bool is_mesh = m.joined == Joined::Mesh;
    m.pair_rate = is_mesh && m.gpus <= peers + 1 ? m.rate / peers * kMeshPart : m.rate * kNeighbourPart;
    if (is_mesh && machine.links == 0 && m.gpus <= peers) m.rate = m.rate / peers * (m.gpus - 1);
    return;
  }
  const bool through_host = m.joined == Joined::Host;
  m.rate = pci_of(machine, m) * (through_host ? kThroughHost : kDirectPci);
  if (through_host && generation < 5 && m.gpus > 2)
    m.rate = std::min(m.rate, kPartOfSockets * socket_gbs("x86_64", "GenuineIntel", 6, 0x55));
  m.pair_rate = m.rate;
}

void set_network(const LibraryMachine& machine, Modelled& m) {
  m.nics = kUnlimited;
  if (m.is_one_node()) return;
  const NetworkFacts& network = known_network(machine.network);
  const double gbits = machine.nic_gbits > 0 ? machine.nic_gbits : m.gpu.nic_gbits;
  m.nics = (machine.nics > 0 ? machine.nics : m.gpus) * nic_gbs(network, gbits, RateKind::Effective);
  m.network_us = network.step_us;
  m.step_us = network.step_us + (m.gpus > 1 && std::string_view(network.name) == "EFA" ? kSharedEfaUs : 0);
  m.extra_us = m.step_us - kOverNetwork.tree[kLL];
  if (m.gpus == 1) m.nics = std::min(m.nics, kMostOfOneGpuGbs);
  if (machine.far_nics) m.nics = std::min(m.nics, m.gpus * kFarNicsPart * pci_of(machine, m));
  if (machine.host_copies)
    m.nics = m.gpus == 1 ? std::min(m.nics, kAloneThroughHostGbs) : kPartThroughHost * m.nics;
  if (m.gpus == 1) m.rate = m.pair_rate = kUnlimited;
}

Modelled modelled(const LibraryMachine& machine) {
  if (machine.gpus < 1 || machine.nodes < 1 || machine.gpus * machine.nodes < 2)
    throw InputError("machine", "has fewer than two GPUs", "give more GPUs of a node, or nodes");
  const GpuFacts& gpu = known_gpu(machine.gpu);
  require_known("algorithm", machine.algorithm, {"Ring", "Tree", "NVLS", "NVLSTree", "PAT"});
  require_known("protocol", machine.protocol, {kProtocolNames.begin(), kProtocolNames.end()});
  Modelled m{.gpu = gpu,
             .generation = generation_of(gpu),
             .amd = gpu.sm == 0,
             .gpus = machine.gpus,
             .nodes = machine.nodes,
             .version = version_of(machine.version)};
  m.joined = joint_of(machine, gpu);
  if (gpu.links == 0 && (m.joined == Joined::Switch || m.joined == Joined::Mesh)) m.joined = Joined::Pci;
  set_rates(machine, m);
  set_network(machine, m);
  if (m.joined == Joined::Switch && !machine.no_nvls && *gpu.nvswitch != '\0')
    m.share = switch_facts(gpu.nvswitch).share;
  return m;
}

double bus_factor(Call call, int n) {
  if (call == Call::AllReduce) return 2.0 * (n - 1) / n;
  if (call == Call::Broadcast || call == Call::Reduce || call == Call::SendRecv) return 1;
  return 1.0 * (n - 1) / n;
}

// A candidate: at `busbw_gbs` a message takes x, all of it latency_us + x + fill sqrt(x).
struct Candidate {
  const char* algorithm = "";
  LibraryProtocol protocol = kSimple;
  double latency_us = 0, busbw_gbs = 0, fill = 0;
  double us(double bytes, double factor) const {
    const double x = bytes * factor / busbw_gbs / 1e3;
    return latency_us + x + fill * std::sqrt(x);
  }
};

int floor_log2(int n) {
  return std::bit_width(static_cast<unsigned>(n)) - 1;
}
// GPUs that NVLink joins to a Grace: NICs are behind that CPU.
bool is_of_grace(const Modelled& m) {
  return std::string_view(m.gpu.name) == "GH200";
}
double ll_gbs(const Modelled& m) {
  return kPartOfLL * m.generation.ll_gbs[std::min(m.nodes, 3) - 1];
}
const StepLatencies& steps_inside(const Modelled& m) {
  return m.by_nvlink() ? kOverNvlink : kOverPci;
}
double step_between(const Modelled& m, const PerProtocol& steps, LibraryProtocol p) {
  return steps[p] + m.extra_us * (p == kSimple ? 2 : 1);  // Simple flushes
}
double call_us(const Modelled& m) {
  const double of_generation = is_of_grace(m) ? kCallUsOfGrace : m.generation.call_us;
  return (m.gpu.links > 0 ? of_generation : 0) + (m.amd ? 0 : m.gpu.call_us - kBase.ring[kLL]);
}
double fill_of(const Modelled& m) {
  return m.is_one_node() ? kFillInNode : kFillAcross;
}

// What a ring keeps of its rate where shards are not aligned to 16 bytes.
double part_of_alignment(const Modelled& m, Call call, double bytes) {
  if (call != Call::Allgather && call != Call::ReduceScatter) return 1;
  const auto shard = static_cast<std::int64_t>(bytes) / m.ranks();
  return shard % 16 == 0 ? 1 : shard % 8 == 0 ? kPartOf8Bytes : kPartOf4Bytes;
}

Candidate ring(const Modelled& m, Call call, LibraryProtocol p, double bytes) {
  double gbs = std::min(m.rate, m.nics);
  if (p != kLL) gbs = std::min(gbs, m.rate * part_of_alignment(m, call, bytes));
  if (p == kLL) gbs = std::min(ll_gbs(m), gbs / 2);
  if (p == kLL128) gbs *= 0.92;  // NCCL: 120 of 128 bytes
  const double inside = std::max(steps_inside(m).ring[p], m.is_one_node() ? 0 : kNetworkPost[p]);
  const double between = step_between(m, m.gpus == 1 ? kOverNetwork.tree : kOverNetwork.ring, p);
  double us = kBase.ring[p] + call_us(m);
  if (call == Call::Broadcast || call == Call::Reduce) {
    us += 2 * (m.is_one_node() ? steps_inside(m).ring[p] : between);
  } else {
    const int phases = call == Call::AllReduce ? 2 : 1;
    const int across = m.is_one_node() ? 0 : phases * (m.nodes - 1);
    us += (phases * (m.ranks() - 1) - across) * inside + across * between;
  }
  return {"Ring", p, us, gbs, fill_of(m)};
}

// Of two nodes each sends every byte once, where a ring has 2(n-1)/n of them.
Candidate tree(const Modelled& m, LibraryProtocol p, double bytes) {
  const double across = m.nodes == 2 ? m.nics * bus_factor(Call::AllReduce, m.ranks()) : m.nics;
  double gbs = std::min(m.rate, across) * 0.92;
  if (p == kLL) gbs = std::min(gbs / 3.8, ll_gbs(m));
  if (p == kLL128) gbs *= m.is_one_node() ? 7.0 / 9 : 120.0 / 128;
  if (p == kSimple && m.is_one_node()) gbs *= 0.85;
  const int size = bytes < 64 ? -1 : std::bit_width(static_cast<std::uint64_t>(bytes) >> 6) - 1;
  if (size >= 0 && size < std::ssize(kTreePart[p])) gbs *= kTreePart[p][size];
  const double us = kBase.tree[p] + call_us(m) +
                    2 * ((m.gpus - 1) * steps_inside(m).tree[p] +
                         floor_log2(m.nodes) * step_between(m, kOverNetwork.tree, p));
  return {"Tree", p, us, gbs, fill_of(m)};
}

Candidate nvls(const Modelled& m) {
  const double gbs = m.share * m.rate * bus_factor(Call::AllReduce, m.gpus);
  return {"NVLS", kSimple, kNvlsUs + call_us(m), gbs, kFillNvls};
}

Candidate nvls_tree(const Modelled& m) {
  const double across = m.nodes == 2 ? m.nics * bus_factor(Call::AllReduce, m.ranks()) : m.nics;
  const double part = m.nodes == 2                                 ? 1
                      : std::string_view(m.gpu.family) == "Hopper" ? kNvlsTreePartOfHopper
                                                                   : kNvlsTreePartOfBlackwell;
  const double us = kNvlsTreeUs + 2 * floor_log2(m.nodes) * (kNvlsTreeStepUs + 2 * m.extra_us) + call_us(m);
  return {"NVLSTree", kSimple, us, std::min(m.share * m.rate * kNvlsBusFactor * part, across),
          kFillNvlsTree * std::max(1, floor_log2(m.nodes))};
}

Candidate pat(const Modelled& m) {
  const double us = kPatBase + call_us(m) +
                    floor_log2(m.nodes) * step_between(m, kOverNetwork.tree, kSimple) / kPatSpeedup +
                    m.ranks() * kPatPerRank;
  return {"PAT", kSimple, us, kPatPart * m.nics, fill_of(m)};
}

// Between nodes a GPU sends (n - gpus) / n of an Alltoall by its share of the NICs.
Candidate sends(const Modelled& m, Call call) {
  const int n = m.ranks();
  double gbs = m.rate * (m.amd ? kAlltoallPartOfAmd : kAlltoallPart);
  if (call == Call::SendRecv)
    gbs = m.is_one_node() ? m.pair_rate : std::min(m.rate, m.nics);
  else if (!m.is_one_node())
    gbs = std::min(m.rate, m.nics / m.gpus * bus_factor(call, n) * n / (n - m.gpus));
  double us = m.gpu.call_us + kP2pUs;
  if (!m.is_one_node()) us += kOverNetwork.tree[kLL] + m.step_us + (n - 2) * kPeerUs;
  return {"P2P", kSimple, us, gbs, m.is_one_node() ? kFillP2pInNode : kFillP2pAcross};
}

Candidate all_pairs(const Modelled& m, double bytes) {
  const LibraryProtocol p = bytes < static_cast<double>(kAllPairsLLBelow) ? kLL : kSimple;
  const double gbs = m.rate * kAllPairsPart * (p == kLL ? 0.5 : 1);
  const StepLatencies& inside = steps_inside(m);
  const double beyond_ll = kBase.ring[p] - kBase.ring[kLL] + 2 * (inside.ring[p] - inside.ring[kLL]);
  return {"AllPairs", p, m.gpu.call_us + 2 * link_facts(m.gpu.link).step_us + beyond_ll, gbs, kFillInNode};
}

bool has_all_pairs(const Modelled& m, Call call, double bytes) {
  return call == Call::AllReduce && m.is_one_node() && m.gpus == 8 && m.joined == Joined::Mesh &&
         std::string_view(m.gpu.family) == "CDNA 3" && m.version >= kHasNvlsTree &&
         bytes <= static_cast<double>(kAllPairsUpTo);
}

// NCCL switches LL128 off over PCI, to NICs of Grace in older versions, and RCCL where it was not tried.
bool has_ll128(const Modelled& m) {
  if (!m.by_nvlink() || m.amd || m.gpu.sm < 70 || m.version < kHasLL128) return false;
  return m.is_one_node() || !is_of_grace(m) || m.version >= kHasC2cLL128;
}

// RCCL takes its own schedules where it has them; NVLS is off below the least ranks.
std::vector<Candidate> candidates(const Modelled& m, Call call, double bytes) {
  if (call == Call::Alltoall || call == Call::SendRecv) return {sends(m, call)};
  if (has_all_pairs(m, call, bytes)) return {all_pairs(m, bytes)};
  std::vector<Candidate> all;
  for (const LibraryProtocol p : kProtocols) {
    if (p == kLL128 && !has_ll128(m)) continue;
    all.push_back(ring(m, call, p, bytes));
    if (call == Call::AllReduce) all.push_back(tree(m, p, bytes));
  }
  if (call == Call::AllReduce && m.share > 0 && m.is_one_node() && m.gpus >= kMinRanksOfNvls &&
      m.version >= kHasNvls)
    all.push_back(nvls(m));
  if (call == Call::AllReduce && m.share > 0 && !m.is_one_node() && m.gpus >= kMinRanksOfNvlsTree &&
      m.version >= kHasNvlsTree)
    all.push_back(nvls_tree(m));
  if (!all.empty() && m.nodes > 2 && bytes >= kNvlsTreeFromBytes &&
      std::string_view(all.back().algorithm) == "NVLSTree")
    all = {all.back()};
  if ((call == Call::Allgather || call == Call::ReduceScatter) && m.gpus == 1 && !m.amd &&
      m.version >= kHasPat)
    all.push_back(pat(m));
  return all;
}

LibraryTime time_of(const LibraryMachine& machine, const Modelled& m, Call call, std::int64_t message_bytes) {
  const double bytes = static_cast<double>(message_bytes), factor = bus_factor(call, m.ranks());
  std::vector<Candidate> all = candidates(m, call, bytes);
  // What is forced is taken where the library has it.
  const auto keep = [&all](const auto& is_other) {
    if (!std::ranges::all_of(all, is_other)) std::erase_if(all, is_other);
  };
  keep([&](const Candidate& each) { return machine.algorithm != each.algorithm; });
  keep([&](const Candidate& each) { return machine.protocol != kProtocolNames[each.protocol]; });
  const Candidate& taken =
      *std::ranges::min_element(all, {}, [&](const Candidate& each) { return each.us(bytes, factor); });
  LibraryTime time{.message_bytes = message_bytes,
                   .algorithm = taken.algorithm,
                   .protocol = kProtocolNames[taken.protocol],
                   .us = taken.us(bytes, factor)};
  if (machine.one_process && m.ranks() > 2)
    time.us =
        std::max(time.us, kStartUs * std::min(m.ranks(), 8) + kFurtherStartUs * std::max(m.ranks() - 8, 0) +
                              bytes * factor / taken.busbw_gbs / 2e3);
  time.busbw_gbs = bytes * factor / time.us / 1e3;
  return time;
}

}  // namespace

std::span<const Named<LibraryCall>> library_calls() {
  static constexpr Named<LibraryCall> kCalls[] = {
      {Call::AllReduce, "allreduce"}, {Call::Allgather, "allgather"}, {Call::ReduceScatter, "reducescatter"},
      {Call::Alltoall, "alltoall"},   {Call::Broadcast, "broadcast"}, {Call::Reduce, "reduce"},
      {Call::SendRecv, "sendrecv"}};
  return kCalls;
}

std::string library_of(const LibraryMachine& machine) {
  return known_gpu(machine.gpu).sm == 0 ? "RCCL" : "NCCL";
}

std::vector<LibraryTime> library_times(const LibraryMachine& machine, LibraryCall call,
                                       const std::vector<std::int64_t>& message_bytes) {
  const Modelled m = modelled(machine);
  std::vector<LibraryTime> times;
  for (const std::int64_t bytes : message_bytes) times.push_back(time_of(machine, m, call, bytes));
  return times;
}

// What a flag costs is what NCCL's Simple costs beyond LL, whose flags are in the data.
double emitted_us(const LibraryMachine& machine, LibraryCall call, std::int64_t message_bytes, double us,
                  int steps) {
  const Modelled m = modelled(machine);
  const double flag_us = steps_inside(m).ring[kSimple] - steps_inside(m).ring[kLL];
  const double moving_us =
      static_cast<double>(message_bytes) * bus_factor(call, m.ranks()) / std::min(m.rate, m.nics) / 1e3;
  return us + std::min(steps, 2 * (m.ranks() - 1)) * flag_us + fill_of(m) * std::sqrt(moving_us);
}

// Parts of rates that the model takes off for what a library does not reach are not taken off here.
LibraryRates library_rates(const LibraryMachine& machine) {
  const Modelled m = modelled(machine);
  const bool by_links = m.joined == Joined::Switch || m.joined == Joined::Mesh;
  LibraryRates rates{.step_us = by_links ? link_facts(m.gpu.link).step_us : kPciStepUs,
                     .network_us = m.network_us,
                     .call_us = m.gpu.call_us};
  if (!m.is_one_node()) rates.nics_gbs = m.nics;
  if (m.gpus > 1) {
    rates.gpu_gbs = by_links ? m.rate : pci_of(machine, m);
    rates.pair_gbs = m.joined == Joined::Mesh ? rates.gpu_gbs / (m.gpus - 1) : rates.gpu_gbs;
  }
  if (m.share > 0) rates.switch_gain = switch_gain(switch_facts(m.gpu.nvswitch), m.gpu, RateKind::Effective);
  return rates;
}

namespace {

// Shapes of clouds and systems whose names lack that of their GPU; the first that a name contains.
struct NamedShape {
  const char* part = "";
  const char* gpu = "";
  const char* network = "";
  bool is_mesh = false;
};
constexpr NamedShape kNamedShapes[] = {
    {"p5en", "H200", "EFA 2"},     {"p5", "H100", "EFA 2"},      {"p4d", "A100", "EFA"},
    {"p3dn", "V100", "EFA", true}, {"nvl72", "GB200", ""},       {"ndv4", "A100", ""},
    {"dgx1", "V100", "", true},    {"dgx2", "V100", ""},         {"hgx-2", "V100", ""},
    {"mi300x", "MI300X", "RoCE"},  {"mi325x", "MI325X", "RoCE"}, {"mi355x", "MI355X", "RoCE"},
    {"mi250", "MI250X", ""},
};

std::optional<NamedShape> shape_named(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const NamedShape& shape : kNamedShapes)
    if (name.find(shape.part) != std::string::npos) return shape;
  std::optional<NamedShape> best;  // the longest name: "gb200" has "b200"
  for (const GpuFacts& gpu : gpu_table()) {
    std::string each = gpu.name;
    std::ranges::transform(each, each.begin(),
                           [](unsigned char c) { return c == ' ' ? '-' : std::tolower(c); });
    if (name.find(each) != std::string::npos && (!best || each.size() > std::string(best->gpu).size()))
      best = NamedShape{.gpu = gpu.name};
  }
  return best;
}

// GB/s that leave a node over its NICs: what links to other nodes carry, within all limits over them.
double gbs_out_of(const Topology& topology, const std::vector<Rank>& node) {
  const auto is_inside = [&](Node n) { return std::ranges::binary_search(node, n); };
  std::vector<bool> leaves(topology.links.size());
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    leaves[l] = is_inside(topology.links[l].src) && !is_inside(topology.links[l].dst);
  const std::vector<double> shares = fair_shares(topology, leaves);
  double gbs = 0;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    gbs += shares[l] * 1e-3 / topology.links[l].beta_us_per_byte;
  return gbs;
}

}  // namespace

// Machines that failures or changes have made have more words in their names. Where schedules leave switches
// alone (ir/links_alone.h) the library does not.
std::optional<LibraryMachine> library_machine(const Topology& topology) {
  const std::string rest = topology.name.substr(std::min(topology.name.find(' '), topology.name.size()));
  if (topology.ranks < 2 || (!rest.empty() && rest != " whose switches only forward")) return {};
  const std::optional<NamedShape> shape = shape_named(topology.name);
  if (!shape) return {};
  std::vector<std::vector<Rank>> nodes = nodes_of(topology).ranks;
  // Between nodes of one GPU, as in dgx-h100:2x1, links have one latency, as inside of a node.
  if (topology.name.ends_with("x1") && nodes.size() == 1) {
    nodes.assign(topology.ranks, {});
    for (Rank n = 0; n < topology.ranks; ++n) nodes[n] = {n};
  }
  const auto differs = [&](const std::vector<Rank>& node) { return node.size() != nodes.front().size(); };
  if (std::ranges::any_of(nodes, differs)) return {};
  LibraryMachine machine{.gpu = shape->gpu,
                         .gpus = static_cast<int>(nodes.front().size()),
                         .nodes = static_cast<int>(nodes.size()),
                         .network = shape->network};
  if (shape->is_mesh) machine.joined = Joined::Mesh;
  // Islands are no nodes, and PCI is all that there is, whatever links such a GPU has elsewhere.
  if (const PciFacts* const pci = pci_between_gpus(topology)) {
    machine.gpus = topology.ranks;
    machine.nodes = 1;
    machine.joined = Joined::Pci;
    machine.pci = pci->generation;
    return machine;
  }
  if (nodes.size() > 1) {
    double gbs = std::numeric_limits<double>::infinity();  // of the node with the least
    for (const std::vector<Rank>& node : nodes) gbs = std::min(gbs, gbs_out_of(topology, node));
    const double usual = known_gpu(machine.gpu).nic_gbits / 8;
    machine.nics = std::clamp(static_cast<int>(std::lround(gbs / usual)), 1, machine.gpus);
    if (gbs < 0.9 * machine.nics * usual) machine.nic_gbits = 8 * gbs / machine.nics;
  }
  return machine;
}

std::optional<LibraryCall> library_call(const Collective& collective) {
  if (is_custom(collective)) return {};
  return value_in(library_calls(), name_of(row_of(collective.kind).result));
}

std::string to_json(const LibraryMachine& machine, LibraryCall call, const std::vector<LibraryTime>& times) {
  return json_file("chorale_baseline", 1, "library", library_of(machine), "gpu", machine.gpu, "gpus",
                   machine.gpus, "nodes", machine.nodes, "collective", name_in(library_calls(), call),
                   "rates", library_rates(machine), "rows", times);
}

Report report_of(const LibraryMachine& machine, LibraryCall call, const std::vector<LibraryTime>& times) {
  ReportTable table{.title = fmt::format("{} on {} of {}: a model of what it takes", library_of(machine),
                                         counted(machine.nodes, "node"), counted(machine.gpus, machine.gpu)),
                    .rows = {{"message", "algorithm", "protocol", "time", "busbw"}},
                    .kinds = "rllrr"};
  for (const LibraryTime& time : times)
    table.rows.push_back({format_bytes(static_cast<double>(time.message_bytes)), time.algorithm,
                          time.protocol, format_us(time.us), fmt::format("{:.2g}", time.busbw_gbs)});
  return {.title = library_of(machine) + ", " + std::string(name_in(library_calls(), call)),
          .tables = {std::move(table)}};
}

}  // namespace chorale
