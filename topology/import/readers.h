// Readers of foreign formats, one a file: text in, value out. Each throws InputError that names the file, the
// line or element, and what to do; numbers have limits (ranks, speeds), and what is not understood is refused
// or listed, never guessed silently. docs/topologies.md has the rules of each format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/machine_changes.h"
#include "ir/topology.h"
#include "topology/import/host.h"
#include "topology/import/wiring.h"

namespace chorale {

Host read_nccl_xml(std::string_view text, const std::string& file,
                   const ImportOptions&);  // NCCL's and RCCL's dumps
Host read_hwloc_xml(std::string_view text, const std::string& file, const ImportOptions&);
Host read_nvidia_smi(std::string_view text, const std::string& file,
                     const ImportOptions&);  // nvidia-smi topo -m
Host read_rocm_smi(std::string_view text, const std::string& file,
                   const ImportOptions&);  // rocm-smi --showtopo, with or without --json

// Has the text a line with "SwitchName=", or is it of Kubernetes nodes with topograph's labels?
bool is_slurm_topology(std::string_view text);
// The switches of Slurm's topology.conf, topology.yaml, or of such labels, over the hosts.
SwitchTree read_slurm_topology(std::string_view text, const std::string& file);
// A machine of such a tree alone: a host is a rank.
Wiring wiring_of(const SwitchTree&, const std::string& file, const ImportOptions&);

// A machine that another program has read (topology/import/wiring_json.cpp).
struct DescribedMachine {
  Wiring wiring = {};
  int copies = 0;                        // equal nodes, joined by its ports; 0: not known
  std::optional<Topology> machine = {};  // in place of nodes and lines: in chunks per round already
};
DescribedMachine read_wiring(std::string_view text, const std::string& file, bool within_nodes);

}  // namespace chorale
