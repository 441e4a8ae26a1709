// Switches that copy and add, as hardware has them.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/machine_changes.h"
#include "ir/topology.h"
#include "topology/hardware/facts.h"

namespace chorale {

// Gives these switches the abilities of those of nodes with such GPUs, and the machine what they deliver; its
// chunks become smaller where whole ones per round would be far from that. Returns how many times
// (chunk_divisor). If switches are to forward only, the name says so, and nothing else changes. Requires GPUs
// with such switches (GpuFacts::nvswitch).
int compute_at(Topology&, const std::vector<Node>& switches, const GpuFacts&, const ImportOptions&);

// Returns what such switches are taken for: "NVSwitches multicast and reduce (NVLS; NVSwitch 3, H100): ...".
std::string computing_in_words(const GpuFacts&);

// Returns the refusal of --switches-in-network for a machine that has no such switches.
InputError no_computing_switches(const std::string& machine);

}  // namespace chorale
