// Readers of foreign formats, one a file: text in, value out. Each throws InputError that names the file, the
// line or element, and what to do; numbers have limits (ranks, speeds), and what is not understood is refused
// or listed, never guessed silently. docs/topologies.md has the rules of each format.
#pragma once

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

// Has the text a line with "SwitchName="?
bool is_slurm_topology(std::string_view text);
// The switches of Slurm's topology.conf (the tree plugin) over its hosts.
SwitchTree read_slurm_topology(std::string_view text, const std::string& file);
// A machine of such a tree alone: a host is a rank.
Wiring wiring_of(const SwitchTree&, const std::string& file, const ImportOptions&);

// A node, and how many of them are joined; it contains what the file has about the network.
Wiring read_taccl_json(std::string_view text, const std::string& file, int nodes, bool within_nodes);
// These files contain their number of nodes.
Wiring read_teccl_json(std::string_view text, const std::string& file);
Wiring read_astra_network(std::string_view text,
                          const std::string& file);  // YAML or JSON of the analytical backend
Wiring read_ns3_topology(std::string_view text,
                         const std::string& file);  // ASTRA-sim's physical topology for ns-3

// In chunks per round already.
Topology read_msccl_topology(std::string_view text, const std::string& file);

}  // namespace chorale
