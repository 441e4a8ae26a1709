// Facts of hardware: what links, GPUs, NICs, PCI and sockets carry and cost. Machines by name
// (topology/accelerators.cpp) and readers of files (topology/import/) take their numbers from here alone, so
// that one box has one answer. topology/hardware/facts.cpp has the rows, a source beside each number.
//
// Rates are GB/s of 1e9 bytes in one direction; latencies are microseconds.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/topology.h"

namespace chorale {

// What a rate is: what programs reach, below the line rate by what protocols cost; or the datasheet's.
enum class RateKind { Effective, Line };

struct LinkFacts {
  const char* name = "";  // "NVLink 4"
  double line_gbs = 0;    // of one link
  double gbs = 0;         // of one link, as programs reach it
  double step_us = 0;     // what a step over it costs
  const char* source = "";
};

// What a switch does besides forwarding. `share`: a large AllReduce in which every rank sends its data to the
// switch once and receives the sum once moves this part of the effective rate of a rank's links; nccl-tests
// prints it as algbw. 0 where the switch only forwards.
struct SwitchFacts {
  const char* name = "";  // "NVSwitch 3"
  Abilities abilities = {};
  double share = 0;
  const char* source = "";
};

// Returns Topology::switch_gain of such switches, at these rates of the GPU's links: eight ranks send and
// receive seven sums and seven copies of each eighth of their data.
struct GpuFacts;
double switch_gain(const SwitchFacts&, const GpuFacts&, RateKind);

struct GpuFacts {
  const char* name = "";      // "H100"
  const char* family = "";    // "Hopper"
  int sm = 0;                 // compute capability times ten; 0 of AMD
  const char* gcn = "";       // "gfx942"; "" of NVIDIA
  const char* link = "";      // of LinkFacts, to other GPUs; "": PCI alone
  int links = 0;              // of a GPU, to all others or to switches
  int pci = 0;                // generation
  double nic_gbits = 0;       // that a node has beside each GPU
  const char* cpu = "";       // of SocketFacts, in servers with such GPUs, where nothing names the CPU
  const char* nvswitch = "";  // of SwitchFacts; "": none, or one that only forwards
  // What a call costs before its first step and after its last: launch and first flag.
  double call_us = 0;
  const char* source = "";
};

struct NetworkFacts {
  const char* name = "";  // "InfiniBand"
  double part = 1;        // of the line rate that programs reach
  double step_us = 0;     // from GPU to GPU, both ports together
  const char* source = "";
};

struct PciFacts {
  int generation = 0;
  double gigatransfers = 0;  // of a lane
  double line_gbs = 0;       // of 16 lanes
  double gbs = 0;            // of 16 lanes, as programs reach it
  double peer_read_gbs = 0,
         peer_write_gbs = 0;  // of 16 lanes, from GPU to GPU by loads and stores; 0: unknown
  const char* source = "";
};

struct NicFacts {       // by its PCI device
  const char* id = "";  // vendor and device, "15b3:1021"
  const char* name = "";
  double gbits = 0;  // of a port
};

struct HostFacts {           // a host that is one rank, of which no GPU is known
  const char* network = "";  // of NetworkFacts
  double nic_gbits = 0;
  double call_us = 0;  // of a collective of MPI
  const char* source = "";
};

struct SocketFacts {  // between two CPUs
  const char* name = "";
  double gbs = 0;
  const char* source = "";
};

std::span<const LinkFacts> link_table();
std::span<const GpuFacts> gpu_table();
std::span<const SwitchFacts> switch_table();
std::span<const NetworkFacts> network_table();
std::span<const PciFacts> pci_table();
std::span<const SocketFacts> socket_table();
std::span<const NicFacts> nic_table();
const HostFacts& host_facts();

// Each returns the row of that name, and throws std::logic_error if there is none: names are the program's.
const LinkFacts& link_facts(std::string_view name);
const GpuFacts& gpu_facts(std::string_view name);
const SwitchFacts& switch_facts(std::string_view name);
const NetworkFacts& network_facts(std::string_view name);
const SocketFacts& socket_facts(std::string_view name);
const PciFacts& pci_facts(int generation);

// Returns the first GPU of a compute capability (90: H100); of one that the table lacks, the newest before it
// ("sm 110" is taken for Rubin); of less than any, the oldest.
const GpuFacts& gpu_of_sm(int sm);
// Returns the NVLink of a GPU of this compute capability, by the newest GPU up to it that has NVLinks.
const LinkFacts& nvlink_of_sm(int sm);
// Returns the GPU of an architecture of AMD ("gfx942"; "910" of older files is gfx90a).
const GpuFacts& gpu_of_gcn(const std::string& gcn);
// Returns the GPU whose name is a word of a model ("Tesla V100-SXM3-32GB", the longest such name); nullptr if
// there is none.
const GpuFacts* gpu_of_model(const std::string& model);

// Returns the rate of one link of the GPU, GB/s; 0 if it has none.
double link_gbs(const GpuFacts&, RateKind);
double rate_of(const LinkFacts&, RateKind);
// Returns the Gb/s of a NIC by its PCI device; 0 if the table lacks it.
double nic_gbits_of(std::string_view id);
// Returns what a NIC of `gbits` Gb/s carries, GB/s.
double nic_gbs(const NetworkFacts&, double gbits, RateKind);
// Returns the rate of `lanes` lanes of PCI, GB/s; between generations in proportion to their line rates.
double pci_gbs(double gigatransfers, int lanes, RateKind = RateKind::Effective);
// Returns the rate between two CPUs, by what /proc/cpuinfo has, GB/s.
double socket_gbs(const std::string& arch, const std::string& vendor, int family, int model);

// What NCCL takes for PCI and NICs whose files have no speed (its topo.cc).
inline constexpr double kUnknownGigatransfers = 8, kUnknownNicGbits = 10;
inline constexpr int kUnknownLanes = 16;

// Latencies of parts of a path, where a file has none: what one hop of PCI, a link between CPUs adds to a
// step.
inline constexpr double kPciHopUs = 0.25, kSocketHopUs = 0.5;

}  // namespace chorale
