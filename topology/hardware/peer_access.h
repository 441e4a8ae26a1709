// Whether GPUs should read the memory of others or write it, where PCI joins them.
#pragma once

#include "ir/topology.h"
#include "topology/hardware/facts.h"

namespace chorale {

// Returns the generation of PCI that joins the GPUs of a machine: one node of GPUs, by its labels, without
// NVSwitches, whose fastest link has the rate of 16 lanes, within 5 %. nullptr: its GPUs have other links, it
// has several nodes, or no labels.
const PciFacts* pci_between_gpus(const Topology&);

// Returns whether loads from a peer's memory are known to be faster there than stores.
bool reads_are_faster(const Topology&);

}  // namespace chorale
