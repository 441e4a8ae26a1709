// One node of a cluster (a server) as its drivers describe it: the tree of PCI with GPUs and NICs at its
// leaves, and the links that GPUs have beside it. What dumps of NCCL and RCCL, nvidia-smi and hwloc have in
// common.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/machine_changes.h"
#include "topology/hardware/facts.h"
#include "topology/import/wiring.h"

namespace chorale {

struct HostPort {         // of a NIC
  std::string name = {};  // "mlx5_3"; "": the file has none
  int number = 0;         // as NCCL and nvidia-smi count them
  double gbs = 0;         // into the network
};

struct HostPart {
  enum class Kind { Cpu, PciSwitch, Gpu, Nic, NvSwitch };
  Kind kind = Kind::Cpu;
  std::string name = {};  // "gpu 3 (0000:89:00.0)"
  int parent = -1;        // in Host::parts; none of CPUs and NVSwitches
  int number = 0;         // of a GPU: they become ranks in this order, and where it is equal in that of parts
  double up_gbs = 0;      // of PCI to the parent, in each direction
  double net_gbs = 0;     // of a NIC, into the network
  double net_alpha_us = 0;  // of a NIC, if the file has it
  int box = 0;              // of a CPU: the host that it is of, in a file of several
  std::string where = {};   // "dgx.xml:17"; "" if the format has no lines
  std::string model = {};   // of a GPU, as the file has it: "sm 90"
  std::string odd = {};     // what its record has that nothing of its kind has: "has 7 lanes, which ..."
  std::vector<HostPort> ports = {};  // of a NIC, of sum net_gbs; none: the file names none
};

// Returns a part below another one, of a line of the file.
HostPart part_below(int parent, HostPart::Kind, std::string name, double up_gbs, std::string where);

struct HostCable {  // NVLink, xGMI, C2C: one direction
  int src = 0, dst = 0;
  double gbs = 0;
};

struct Host {
  std::string file = {};
  std::vector<HostPart> parts = {};
  std::vector<HostCable> cables = {};
  double socket_gbs = 0;                            // between each two CPUs, in each direction
  double call_us = 0;                               // of the slowest of its GPUs
  const GpuFacts* computing = nullptr;              // GPUs whose NVSwitches copy and add; null: none
  int pci = 0;                                      // generation of its GPUs; 0: none is known
  double step_us = link_facts("NVLink 4").step_us;  // over a link between two GPUs
  std::string network = "InfiniBand";               // of topology/hardware/facts.h, that its NICs meet in
  std::string cable_name = "NVLink";
  std::vector<std::string> read = {}, assumed = {};
  std::vector<std::string> odd = {};      // records that its reader found odd (topology/import/lint.h)
  std::map<std::string, int> known = {};  // by what identifies a part: bus id, guid, name

  int add(HostPart);  // its number
  // Adds the part that `id` identifies, and returns its number. A file may list one thing several times: what
  // is there already is returned as it is.
  int add(HostPart, const std::string& id);
  int find(const std::string& id) const;               // its part; -1: none
  void join(int a, int b, double gbs);                 // by a cable in each direction
  void take(const GpuFacts&);                          // costs of a step and a call, of one of its GPUs
  void note_above_line(const LinkFacts&, double gbs);  // a rate that was specified, if the link has none such
  std::vector<int> gpus() const;                       // parts, in the order of ranks
  int count(HostPart::Kind) const;
};

// Do cables join all GPUs? One to a CPU (NVLinks of POWER) rules that out: over it a GPU reaches others by
// the links between CPUs, which are a part of the tree of PCI.
bool is_joined_without_pci(const Host&);

// What joins the GPUs of a node beside PCI: nothing; one switch for all; the two rings of a DGX-1; bridges
// between neighbours (0 and 1, 2 and 3); a cable for each two; a ring of four; two rings of four, over both
// CPUs; a cable to all but one of eight.
enum class Joint { None, NvSwitch, Dgx1, Pairs, Mesh, Ring, TwoRings, AllButOne };

// Adds the cables of GPUs of this kind, in this order of parts, and takes their costs of a step and a call.
// `links`: of a cable of a mesh or a ring; others have all of a GPU, or what a DGX-1 has.
void join_gpus(Host&, Joint, const GpuFacts&, const std::vector<int>& gpus, const ImportOptions&,
               int links = 1);

// Which rates an import counts.
inline RateKind rates_of(const ImportOptions& options) {
  return options.line_rates ? RateKind::Line : RateKind::Effective;
}

// How what was read in line rates, or in what programs reach, is counted: ", the line rates", and so on.
const char* rates_in_words(const ImportOptions&);

// All nodes in one machine; NICs are joined by a network that never blocks. No path leads through it within
// a node, unless it is asked for, or some node keeps PCI between GPUs (`within_nodes`).
//
// PCI between GPUs counts only in a node whose GPUs are not all joined otherwise: there its tree is kept with
// its switches, and CPUs. Elsewhere it carries GPUs to the network only: from each GPU to the NICs that are
// nearest to it, from each NIC to the GPUs nearest to it, with separate nodes for paths in and paths out, so
// that no path leads through it from GPU to GPU.
//
// Throws InputError if there are no GPUs, or more than 4,096, or if nothing joins several nodes.
// With a tree, its switches are the network of the nodes, which are its hosts.
Wiring wiring_of(const std::vector<Host>&, bool within_nodes = false, const SwitchTree* tree = nullptr);

// Cloud machines whose files show PCI only: what their GPUs are, and what joins them beside PCI.

// A host of which only the PCI devices are known; completed() adds its NVLinks and the speed of its NICs.
struct PciSkeleton {
  Host host = {};           // with GPUs and NICs by their PCI classes; NICs without speed
  std::string gpu_id = {};  // "10de:20b0", of all of its GPUs, or empty
};

// Adds NVLinks and the speed of NICs, from the table of instance types: the type that was named, or else the
// one that the file's name, its GPUs and NICs point to. Records the type in Host::assumed. Throws InputError
// if no type fits, or several.
Host completed(PciSkeleton, const ImportOptions&);

// Returns the type of a cloud machine whose GPUs are bridged in pairs, if ImportOptions::instance or the
// file's name names one; "" otherwise.
std::string bridged_instance(const std::string& file, const ImportOptions&);

// A described node with the NICs of ImportOptions::instance if it has none: equally many beside each GPU, or
// each between neighbouring GPUs. Without an instance as it is. Throws InputError for unknown types, and for
// another number of GPUs.
Host with_nics_of(Host, const ImportOptions&);

}  // namespace chorale
