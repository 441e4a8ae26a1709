// Machines by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/hierarchy.h"
#include "ir/topology.h"
#include "topology/hardware/facts.h"

namespace chorale {

const std::vector<CatalogueEntry>& topology_catalogue();

// The machine of a spec such as "dgx1", "torus:4x4", "dgx-a100:2". Servers of accelerators have the rates
// that programs reach, or on request those of datasheets; machines of papers have the papers' numbers. Throws
// InputError for other names and sizes.
Topology named_topology(const std::string& spec, RateKind = RateKind::Effective);

// Named machines whose switches are nodes: their ports bind, or their paths are too many to be listed.
const std::vector<CatalogueEntry>& switched_catalogue();

// None where the spec ("fat-tree:8") is of no such machine. Throws InputError for sizes that are out of
// range. The name is left to the caller.
std::optional<Topology> switched_machine(const std::string& spec, RateKind = RateKind::Effective);

// Servers and pods of accelerators by name.
const std::vector<CatalogueEntry>& accelerator_catalogue();

// None for other names. Throws InputError for sizes that such a machine does not have.
std::optional<Topology> accelerator_machine(const std::string& spec, RateKind = RateKind::Effective);

// Servers whose PCI counts, or whose GPUs are joined in a way of their own.
const std::vector<CatalogueEntry>& box_catalogue();

// None for other names. Throws InputError for sizes that such a machine does not have.
std::optional<Topology> box_machine(const std::string& spec, RateKind = RateKind::Effective);

// The GPUs whose NVSwitches copy and add; these are the first `nodes` switches of the machine. Other machines
// have 0 such nodes.
struct ComputingNodes {
  const GpuFacts* gpu = nullptr;
  int nodes = 0;
};
ComputingNodes computing_nodes(const std::string& spec);

// What is assumed of a named machine's network, in a sentence; "": nothing that names and sizes leave open.
std::string assumed_network(const std::string& spec);

// Hierarchical machines by name.
const std::vector<CatalogueEntry>& hierarchy_catalogue();

// The hierarchy of a spec such as "a100:4" or "rack:1x2x2x4". Throws InputError for other names and sizes.
Hierarchy named_hierarchy(const std::string& spec, RateKind = RateKind::Effective);

// What the specs of a catalogue start with: "ring", "torus", ...
std::vector<std::string> kinds(const std::vector<CatalogueEntry>&);

// "4x2x8" as numbers >= 1. `where` is what errors (InputError) name: "topology torus:4x".
std::vector<int> spec_sizes(const std::string& where, const std::string& text);

// One number, least .. most.
int spec_size(const std::string& where, const std::string& text, int least, int most);

}  // namespace chorale
