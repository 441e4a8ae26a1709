// What NCCL or RCCL takes on a machine, and how long it takes: a model of the choice that they make, the
// least modelled time of their algorithms and protocols. Constants of the libraries are from their sources,
// rates and latencies from topology/hardware/facts.h; what remains was fitted on measured tables
// (benchmarks/believable.py judges it, docs/believable.md is what it prints).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/fields.h"
#include "ir/named.h"
#include "ir/report.h"
#include "ir/topology.h"

namespace chorale {

// What a library calls its collectives; SendRecv is each rank to the next one, as nccl-tests runs it.
enum class LibraryCall { AllReduce, Allgather, ReduceScatter, Alltoall, Broadcast, Reduce, SendRecv };
std::span<const Named<LibraryCall>> library_calls();  // "allreduce", ..., "sendrecv"

// How GPUs of a node are joined. Host: by PCI through the memory of the host, without direct access.
enum class Joined { Switch, Mesh, Pci, Host };

// Facts of a machine as people state them. Members that are 0 or empty are those of the GPU
// (topology/hardware/facts.h).
struct LibraryMachine {
  std::string gpu = "H100";  // of gpu_table()
  int gpus = 8;              // of a node
  int nodes = 1;
  std::optional<Joined> joined = {};
  int links = 0;               // of a GPU to the others of its node
  int pci = 0;                 // generation
  int nics = 0;                // of a node; 0: one for each GPU
  double nic_gbits = 0;        // of each
  std::string network = "";    // of network_table(); "": InfiniBand
  bool host_copies = false;    // NICs do not reach the memory of GPUs
  bool one_process = false;    // starts all GPUs of a node
  bool no_nvls = false;        // NCCL_NVLS_ENABLE=0
  bool far_nics = false;       // NICs are not below the PCI switch of their GPU
  std::string algorithm = "";  // that was forced (NCCL_ALGO): "Ring", "Tree", "NVLSTree"
  std::string protocol = "";   // that was forced (NCCL_PROTO): "LL", "LL128", "Simple"
  std::string version = "";    // "2.18": of the library's algorithms and protocols; "": the newest
  bool operator==(const LibraryMachine&) const = default;
};

struct LibraryTime {
  std::int64_t message_bytes = 0;  // as nccl-tests counts them
  std::string algorithm = {};      // "Ring", "Tree", "NVLS", "NVLSTree", "PAT", "AllPairs", "P2P"
  std::string protocol = {};       // "LL", "LL128", "Simple"
  double us = 0;
  double busbw_gbs = 0;
};
template <>
struct Fields<LibraryTime> {
  using L = LibraryTime;
  static constexpr auto all =
      plain_fields<&L::message_bytes, &L::algorithm, &L::protocol, &L::us, &L::busbw_gbs>();
};

// Returns "NCCL", or "RCCL" of AMD's GPUs.
std::string library_of(const LibraryMachine&);

// Returns what the library takes at each size, in bytes from 0. Throws InputError for a GPU or network that
// the table of facts lacks, a version that is not of the form 2.18, counts below 1, and a machine of one
// rank.
std::vector<LibraryTime> library_times(const LibraryMachine&, LibraryCall,
                                       const std::vector<std::int64_t>& message_bytes);

// Returns what an emitted program needs for a schedule of so many steps whose links need `us` in all,
// microseconds: in each step a flag behind the data, as NCCL's Simple has it within a node (between nodes a
// signal follows the data, and is in the cost of a step), and pipelines that fill as the library's do. No
// more steps count than a ring has: of longer schedules waves overlap.
double emitted_us(const LibraryMachine&, LibraryCall, std::int64_t message_bytes, double us, int steps);

// Returns the facts of a machine whose name has that of a GPU or of a cloud's shape ("dgx-h100:2"), with its
// nodes and the ranks of each; none of other machines, and where nodes differ. Requires a topology without
// switches.
std::optional<LibraryMachine> library_machine(const Topology&);
// Returns the library's name of a collective of all ranks; none of a custom one, and of Scatter and Gather.
std::optional<LibraryCall> library_call(const Collective&);

// What the facts of a machine carry and cost at most, by the table of facts: rates in GB/s per direction.
struct LibraryRates {
  double gpu_gbs = 0;     // of a GPU within its node; 0: it is alone there
  double pair_gbs = 0;    // of it, to one other GPU
  double nics_gbs = 0;    // of a node; 0 of one node
  double step_us = 0;     // within a node
  double network_us = 0;  // between nodes
  double call_us = 0;
  double switch_gain = 0;  // Topology::switch_gain of switches that multicast and reduce; 0: none do
};
template <>
struct Fields<LibraryRates> {
  using L = LibraryRates;
  static constexpr auto all = plain_fields<&L::gpu_gbs, &L::pair_gbs, &L::nics_gbs, &L::step_us,
                                           &L::network_us, &L::call_us, &L::switch_gain>();
};
// Throws as library_times() does.
LibraryRates library_rates(const LibraryMachine&);

// {"chorale_baseline": 1, "library", "gpu", "gpus", "nodes", "collective", "rates": fields of LibraryRates,
// "rows": [fields of LibraryTime]}
std::string to_json(const LibraryMachine&, LibraryCall, const std::vector<LibraryTime>&);
Report report_of(const LibraryMachine&, LibraryCall, const std::vector<LibraryTime>&);

}  // namespace chorale
