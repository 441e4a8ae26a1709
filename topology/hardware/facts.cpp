// Sources: "NCCL" is src/graph/topo.h and src/graph/tuning.cc of NVIDIA/nccl 2.28, "RCCL" src/graph/topo.h of
// ROCm/rccl; "nccl-tests 212" and the like are threads of GitHub; names such as a100-1n-ar-howto are measured
// tables (tests/data/measured, benchmarks/believable.py). Numbers fitted on such a table say "fit", and were
// fitted on tables of even index alone, unless they say that no even one has the machine; the others judge
// them.
#include "topology/hardware/facts.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

namespace chorale {
namespace {

// Columns: name, line rate and effective rate of one link in GB/s, cost of a step in microseconds. A step
// over NVLink is fit on a100-1n-ar-howto: 17.7 us at 8 bytes, of which 6.6 are the call, over 14 steps. One
// over xGMI is fit on mi250x-16gcd-ar-small: 24.65 us, of which 9.6 are the call, over 30 steps.
constexpr LinkFacts kLinks[] = {
    {"NVLink 1", 20, 18, 0.8,
     "line: P100 datasheet, 160 GB/s over 4 links in both directions; rate: NCCL, sm 60"},
    {"NVLink 2", 25, 22, 0.8,
     "line: V100 datasheet, 300 GB/s over 6 links in both directions; rate: NCCL 2.12, sm 70; tables reach "
     "21.5 "
     "(v100-dgx1like-8gpu-ar) and 20.4 (dgx2-12gpu-broadcast)"},
    {"NVLink 3", 25, 20, 0.8,
     "line: A100 datasheet, 600 GB/s over 12 links in both directions; rate: NCCL, sm 80; table "
     "a100-1n-ar-howto "
     "reaches 19.4"},
    {"NVLink 3 bridge", 14.0625, 12, 0.8,
     "line: RTX A6000 datasheet, 112.5 GB/s over 4 links in both directions; rate: NCCL, sm 86"},
    {"NVLink 4", 25, 20.6, 0.8,
     "line: H100 datasheet, 900 GB/s over 18 links in both directions; rate: NCCL, sm 90; table "
     "mleng-h200-8gpu-ar-nvlsoff reaches 20.3"},
    {"NVLink 5", 50, 40.1, 0.8,
     "line: B200 datasheet, 1800 GB/s over 18 links in both directions; rate: NCCL, sm 100; table "
     "mleng-b200-8gpu-ar-nvlsoff reaches 37.9"},
    {"NVLink 6", 50, 38, 0.8,
     "line: Rubin datasheet, 3600 GB/s over 36 links in both directions; rate: NCCL, sm 107"},
    {"xGMI 2", 46, 24, 0.5,
     "line: MI100 datasheet, 276 GB/s over 3 links in both directions; rate: RCCL, before gfx90a"},
    {"xGMI 3", 50, 36, 0.5,
     "line: MI250X datasheet, 100 GB/s of a link in both directions; rate: RCCL, gfx90a"},
    {"xGMI 4", 64, 48, 0.5,
     "line: MI300X datasheet, 128 GB/s of a link in both directions; rate: RCCL, gfx942; tables "
     "mleng-mi300x-2gpu-ar "
     "and -8gpu-ar reach 47.7 and 44.7"},
    {"xGMI 5", 76.8, 58.5, 0.5,
     "line: MI355X datasheet, 153.6 GB/s of a link in both directions; rate: fit on mi355x-1n-ar-oci, which "
     "reaches "
     "58.2 "
     "(an odd table: the even one is Alltoall, 51.6); RCCL has 48"},
    {"partitions of a GPU", 2618, 2618, 0.8, "rate: NCCL, MLOPart; no line rate is published"},
    {"ICI", 50, 50, 0.7, "line: Jouppi et al. 2023, TPU v4; rate: the line rate, as the paper's"},
    {"NeuronLink 3", 64, 64, 0.7,
     "line: AWS Neuron, Trn2 architecture: 1024 GB/s of a chip over four neighbours, in both directions; "
     "none "
     "measured"},
};

// Shares are the most of any table, so that no bound is below what was measured; of n ranks the part is 9/8 n
// / (n + 1) of that of eight (topology/switches.cpp). Hopper: azure-h100-1n-ar (478.9 GB/s busbw, 8 GPUs) has
// 0.738 of 370.8, mleng-h200-8gpu-ar 0.729, and mleng-h200-5gpu-ar 0.698, which is 0.745 of eight; Blackwell:
// mleng-b200-8gpu-ar (838) has 0.663 of 721.8, mleng-b200-6gpu-ar 0.647, which is 0.671.
constexpr SwitchFacts kSwitches[] = {
    {"NVSwitch 3",
     {.multicast = true, .reduce = true},
     0.745,
     "NVLS of Hopper; share: fit on azure-h100-1n-ar and mleng-h200-5gpu-ar; nccl-tests 212 has 480 GB/s "
     "busbw"},
    {"NVSwitch 4",
     {.multicast = true, .reduce = true},
     0.672,
     "NVLS of Blackwell; share: fit on mleng-b200-8gpu-ar and mleng-b200-6gpu-ar"},
    {"SHARP",
     {.multicast = true, .reduce = true},
     1,
     "Quantum-2 datasheet: sums at the line rate; none measured"},
};

constexpr const char *kPower = "POWER9", *kArm = "Arm", *kAmd = "AMD",
                     *kEmerald = "Intel, from Emerald Rapids on", *kSapphire = "Intel, Sapphire Rapids",
                     *kSkylake = "Intel, from Skylake on", *kBroadwell = "Intel before Skylake, and others";
constexpr SocketFacts kSocketRows[] = {
    {kPower, 32, "NCCL, P9"},     {kArm, 6, "NCCL, ARM"},       {kAmd, 16, "NCCL, AMD"},
    {kEmerald, 40, "NCCL, ERP"},  {kSapphire, 22, "NCCL, SRP"}, {kSkylake, 10, "NCCL, SKL"},
    {kBroadwell, 6, "NCCL, BDW"},
};

// What a call costs: NCCL's base latency of ring and tree with LL, 6.6 us, in which a100-1n-ar-howto, the
// table of the least time, leaves 0.8 us a step. RTX: fit on rtx4070tis-2gpu-ar-nop2p, 6.2 us with two steps
// of 1 us. AMD: fit on mi250x-16gcd-ar-small together with the step. CPUs are those of NVIDIA's DGX of the
// generation, of g4dn, g5 and g6e of Amazon, and else AMD's; of A800 and RTX PRO 6000 those whose rate is
// nearest to what kernels move between CPUs by the slopes of their times: 8.9 GB/s in vllm pull 50941, 26 and
// 52 in b12x pull 139. Columns: name, family, sm, gcn,
// link, links of a GPU, generation of PCI, Gb/s of NICs for a GPU, CPU, switch, call.
constexpr const char* kNvidiaCall = "links: datasheet; call: NCCL, tuning.cc, ring with LL";
constexpr const char* kRtxCall = "links: datasheet; call: fit on rtx4070tis-2gpu-ar-nop2p";
constexpr const char* kAmdCall = "links: datasheet; call: fit on mi250x-16gcd-ar-small";
constexpr GpuFacts kGpus[] = {
    {"P100", "Pascal", 60, "", "NVLink 1", 4, 3, 100, kBroadwell, "", 6.6, kNvidiaCall},
    {"V100", "Volta", 70, "", "NVLink 2", 6, 3, 100, kSkylake, "", 6.6, kNvidiaCall},
    {"T4", "Turing", 75, "", "", 0, 3, 100, kSkylake, "", 6.6, kNvidiaCall},
    {"A100", "Ampere", 80, "", "NVLink 3", 12, 4, 200, kAmd, "", 6.6, kNvidiaCall},
    {"A800", "Ampere", 80, "", "NVLink 3", 8, 4, 200, kSkylake, "", 6.6, kNvidiaCall},
    {"RTX A6000", "Ampere", 86, "", "NVLink 3 bridge", 4, 4, 100, kAmd, "", 4.2, kRtxCall},
    {"RTX 3090", "Ampere", 86, "", "NVLink 3 bridge", 4, 4, 100, kAmd, "", 4.2, kRtxCall},
    {"A10G", "Ampere", 86, "", "", 0, 4, 100, kAmd, "", 4.2, kRtxCall},
    {"L40S", "Ada", 89, "", "", 0, 4, 200, kAmd, "", 4.2, kRtxCall},
    {"RTX 4090", "Ada", 89, "", "", 0, 4, 100, kAmd, "", 4.2, kRtxCall},
    {"H100", "Hopper", 90, "", "NVLink 4", 18, 5, 400, kSapphire, "NVSwitch 3", 6.6, kNvidiaCall},
    {"H200", "Hopper", 90, "", "NVLink 4", 18, 5, 400, kSapphire, "NVSwitch 3", 6.6, kNvidiaCall},
    {"H20", "Hopper", 90, "", "NVLink 4", 18, 5, 400, kSapphire, "NVSwitch 3", 6.6, kNvidiaCall},
    {"GH200", "Hopper", 90, "", "NVLink 4", 18, 5, 200, kArm, "NVSwitch 3", 6.6, kNvidiaCall},
    {"B200", "Blackwell", 100, "", "NVLink 5", 18, 5, 400, kEmerald, "NVSwitch 4", 6.6, kNvidiaCall},
    {"GB200", "Blackwell", 100, "", "NVLink 5", 18, 5, 400, kArm, "NVSwitch 4", 6.6, kNvidiaCall},
    {"B300", "Blackwell", 103, "", "NVLink 5", 18, 6, 800, kEmerald, "NVSwitch 4", 6.6, kNvidiaCall},
    {"GB300", "Blackwell", 103, "", "NVLink 5", 18, 6, 800, kArm, "NVSwitch 4", 6.6, kNvidiaCall},
    {"Rubin", "Rubin", 107, "", "NVLink 6", 36, 6, 1600, kArm, "NVSwitch 4", 6.6, kNvidiaCall},
    {"RTX PRO 6000", "Blackwell", 120, "", "", 0, 5, 400, kEmerald, "", 4.2, kRtxCall},
    {"RTX 5090", "Blackwell", 120, "", "", 0, 5, 400, kAmd, "", 4.2, kRtxCall},
    {"GB10", "Blackwell", 121, "", "", 0, 5, 200, kArm, "", 6.6, kNvidiaCall},
    {"MI50", "GCN 5", 0, "gfx906", "xGMI 2", 2, 4, 100, kAmd, "", 9.6, kAmdCall},
    {"MI100", "CDNA", 0, "gfx908", "xGMI 2", 3, 4, 100, kAmd, "", 9.6, kAmdCall},
    {"MI250X", "CDNA 2", 0, "gfx90a", "xGMI 3", 8, 4, 100, kAmd, "", 9.6, kAmdCall},
    {"MI300X", "CDNA 3", 0, "gfx942", "xGMI 4", 7, 5, 400, kAmd, "", 9.6, kAmdCall},
    {"MI325X", "CDNA 3", 0, "gfx942", "xGMI 4", 7, 5, 400, kAmd, "", 9.6, kAmdCall},
    {"MI300A", "CDNA 3", 0, "gfx942", "xGMI 4", 6, 5, 200, kAmd, "", 9.6,
     "links: CDNA 3 white paper, two to each of three others; NICs: El Capitan; call: as MI300X"},
    {"MI210", "CDNA 2", 0, "gfx90a", "xGMI 3", 3, 4, 100, kAmd, "", 9.6, kAmdCall},
    {"MI355X", "CDNA 4", 0, "gfx950", "xGMI 5", 7, 5, 400, kAmd, "", 9.6, kAmdCall},
};

// Part of the line rate: mi355x-class-2n-a2a moves 48.6 GB/s of 400 Gb/s (even), a100-3n-ar-hdr4 24.2 and
// spark-2n-allgather-max 24.1 of 200 Gb/s: 0.975 is above all of them.
constexpr NetworkFacts kNetworks[] = {
    {"InfiniBand", 0.975, 5, "part: fit on mi355x-class-2n-a2a; step: NCCL, tuning.cc, tree with LL"},
    {"InfiniBand of hosts", 0.975, 1.4,
     "part: as InfiniBand; step: short messages of MPI between hosts with ConnectX take 1.4 us (osu_latency, "
     "Open MPI's list devel, message 02158)"},
    {"RoCE", 0.975, 12,
     "part: fit on spark-2n-allgather-max; step: fit on spark-2n-ar-8k64k, 30.3 us with two steps and a "
     "call"},
    {"EFA", 0.975, 29,
     "part: as InfiniBand; step: g4dn-2n-ar-t4, 65 us with two of them and a call, the least of any table "
     "(odd; "
     "p4de-2n-ar and p3dn-2n-ar need more, api/library_model.cpp)"},
    {"EFA 2", 0.975, 23.5,
     "part: as InfiniBand; step: p5-2n-ar-doeks and p5-2n-ar-slurm, 64.7 us (no even table has it)"},
    {"TCPX", 0.945, 40,
     "part: fit on gcp-a3mega-2n-ag-dstack, 23.6 of 25 GB/s; step: fit on its small sizes"},
    {"Slingshot", 0.92, 5.2,
     "part: fit on gh200-2n-1gpu-ar-alps, 22.9 of 25 GB/s; step: fit on gh200-2n-ar-olivia, 21.8 us with "
     "two"},
};

// Rates: loads from GPU to GPU below switches reach 52 GB/s where 16 RTX PRO 6000 are in four islands, and
// stores 2.6 (b12x PR 139); other generations are in proportion. NCCL counts three quarters of the line rate,
// which NICs behind PCI exceed: 48.6 GB/s of 48 in mi355x-class-2n-a2a, 24.2 of 24 in a100-3n-ar-hdr4.
constexpr PciFacts kPci[] = {
    {1, 2.5, 4, 3.3, 0, 0, "line: PCI-SIG, 8 of 10 bits; rate: in proportion"},
    {2, 5, 8, 6.6, 0, 0, "line: PCI-SIG, 8 of 10 bits; rate: in proportion"},
    {3, 8, 15.754, 13, 0, 0, "line: PCI-SIG, 128 of 130 bits; rate: in proportion"},
    {4, 16, 31.508, 26, 0, 0, "line: PCI-SIG, 128 of 130 bits; rate: in proportion"},
    {5, 32, 63.015, 52, 52, 2.6, "line: PCI-SIG, 128 of 130 bits; rate, loads and stores: b12x PR 139"},
    {6, 64, 121, 100, 0, 0, "line: PCI-SIG, 242 of 256 bytes; rate: in proportion"},
};

constexpr NicFacts kNics[] = {
    {"15b3:1013", "ConnectX-4", 100}, {"15b3:1017", "ConnectX-5", 100}, {"15b3:1019", "ConnectX-5 Ex", 100},
    {"15b3:101b", "ConnectX-6", 200}, {"15b3:1021", "ConnectX-7", 400}, {"15b3:1023", "ConnectX-8", 800},
    {"1d0f:efa0", "EFA", 100},        {"1d0f:efa1", "EFA", 100},        {"1d0f:efa2", "EFA", 200},
};

constexpr HostFacts kHost{"InfiniBand of hosts", 200, 0.45,
                          "call: MPI_Allreduce of 8 bytes by two processes of a host, Open MPI 4.1.4; NIC: "
                          "ConnectX-6"};

template <typename Row, std::size_t n>
const Row& named(const Row (&rows)[n], std::string_view name) {
  for (const Row& row : rows)
    if (name == row.name) return row;
  throw std::logic_error("no fact is named " + std::string(name));
}

}  // namespace

std::span<const LinkFacts> link_table() {
  return kLinks;
}
std::span<const GpuFacts> gpu_table() {
  return kGpus;
}
std::span<const SwitchFacts> switch_table() {
  return kSwitches;
}
std::span<const NetworkFacts> network_table() {
  return kNetworks;
}
std::span<const PciFacts> pci_table() {
  return kPci;
}
std::span<const SocketFacts> socket_table() {
  return kSocketRows;
}

std::span<const NicFacts> nic_table() {
  return kNics;
}
const HostFacts& host_facts() {
  return kHost;
}

const LinkFacts& link_facts(std::string_view name) {
  return named(kLinks, name);
}
const GpuFacts& gpu_facts(std::string_view name) {
  return named(kGpus, name);
}
const SwitchFacts& switch_facts(std::string_view name) {
  return named(kSwitches, name);
}
const NetworkFacts& network_facts(std::string_view name) {
  return named(kNetworks, name);
}

const SocketFacts& socket_facts(std::string_view name) {
  return named(kSocketRows, name);
}
const PciFacts& pci_facts(int generation) {
  return kPci[std::clamp(generation, 1, static_cast<int>(std::size(kPci))) - 1];
}

namespace {

// The first row of the newest GPUs up to a compute capability, else of the oldest.
const GpuFacts& newest_up_to(int sm, bool with_links) {
  const GpuFacts* best = nullptr;
  for (const GpuFacts& gpu : kGpus)
    if (gpu.sm > 0 && gpu.sm <= sm && (gpu.links > 0 || !with_links) &&
        (best == nullptr || gpu.sm > best->sm))
      best = &gpu;
  return best == nullptr ? kGpus[0] : *best;
}

}  // namespace

const GpuFacts& gpu_of_sm(int sm) {
  return newest_up_to(sm, false);
}

const LinkFacts& nvlink_of_sm(int sm) {
  return link_facts(newest_up_to(sm, true).link);
}

const GpuFacts* gpu_of_model(const std::string& model) {
  const GpuFacts* best = nullptr;
  for (const GpuFacts& gpu : kGpus) {
    const std::string_view name = gpu.name;
    const std::size_t at = model.find(name);
    if (at == std::string::npos) continue;
    const auto joins = [&](std::size_t i) {
      return i < model.size() && std::isalnum(static_cast<unsigned char>(model[i])) != 0;
    };
    if ((at > 0 && joins(at - 1)) || joins(at + name.size())) continue;
    if (best == nullptr || name.size() > std::string_view(best->name).size()) best = &gpu;
  }
  return best;
}

// Older dumps have the architecture as a number in which 910 is gfx90a.
const GpuFacts& gpu_of_gcn(const std::string& gcn) {
  const std::string_view digits = gcn.starts_with("gfx") ? std::string_view(gcn).substr(3) : gcn;
  if (digits.starts_with("95")) return gpu_facts("MI355X");
  if (digits.starts_with("94")) return gpu_facts("MI300X");
  if (digits.starts_with("90a") || digits == "910") return gpu_facts("MI250X");
  return gpu_facts(digits.starts_with("908") ? "MI100" : "MI50");
}

double rate_of(const LinkFacts& link, RateKind rates) {
  return rates == RateKind::Line ? link.line_gbs : link.gbs;
}

// A share is of the effective rate; never less than what ranks by themselves reach.
double switch_gain(const SwitchFacts& facts, const GpuFacts& gpu, RateKind rates) {
  const double part = link_gbs(gpu, RateKind::Effective) / link_gbs(gpu, rates);
  return std::max(1.0, 2 * 7.0 / 8 * facts.share * part);
}

double link_gbs(const GpuFacts& gpu, RateKind rates) {
  return gpu.links == 0 ? 0 : rate_of(link_facts(gpu.link), rates);
}

double nic_gbits_of(std::string_view id) {
  const auto at = std::ranges::find(kNics, id, &NicFacts::id);
  return at == std::end(kNics) ? 0 : at->gbits;
}

double nic_gbs(const NetworkFacts& network, double gbits, RateKind rates) {
  return gbits / 8 * (rates == RateKind::Line ? 1 : network.part);
}

double pci_gbs(double gigatransfers, int lanes, RateKind rates) {
  const PciFacts& row = *std::ranges::min_element(
      kPci, {}, [&](const PciFacts& each) { return std::abs(each.gigatransfers - gigatransfers); });
  return (rates == RateKind::Line ? row.line_gbs : row.gbs) * gigatransfers / row.gigatransfers * lanes / 16;
}

double socket_gbs(const std::string& arch, const std::string& vendor, int family, int model) {
  if (arch == "ppc64") return socket_facts(kPower).gbs;
  if (arch == "arm64") return socket_facts(kArm).gbs;
  if (vendor == "AuthenticAMD") return socket_facts(kAmd).gbs;
  if (vendor == "GenuineIntel" && family == 6) {
    if (model >= 0xCF) return socket_facts(kEmerald).gbs;
    if (model >= 0x8F) return socket_facts(kSapphire).gbs;
    if (model >= 0x55) return socket_facts(kSkylake).gbs;
  }
  return socket_facts(kBroadwell).gbs;
}

}  // namespace chorale
