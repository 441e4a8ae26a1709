// Switches that copy and add, as hardware has them.
#pragma once

#include <string>

#include "ir/error.h"
#include "ir/topology.h"
#include "topology/hardware/facts.h"

namespace chorale {

// Gives a switch the abilities of those of nodes with such GPUs, and the machine what they deliver; its units
// of bandwidth may get smaller. Requires GPUs with such switches (GpuFacts::nvswitch).
void compute_at(Topology&, Node at, const GpuFacts&, RateKind);

// Returns what such switches are taken for: "NVSwitches multicast and reduce (NVLS; NVSwitch 3, H100): ...".
std::string computing_in_words(const GpuFacts&);

// Returns the refusal of --switches-in-network for a machine that has no such switches.
InputError no_computing_switches(const std::string& machine);

}  // namespace chorale
