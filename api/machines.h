// A machine from files of other tools: descriptions of a node by drivers, and of machines by other
// synthesizers and simulators (docs/topologies.md). And levels of a machine, with the hosts that follow from
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/files.h"
#include "ir/hierarchy.h"
#include "ir/machine_changes.h"
#include "ir/outline.h"
#include "ir/report.h"
#include "ir/topology.h"

namespace chorale {

struct ImportedMachine {
  Topology machine = {};    // with its switches, and labels of its nodes
  std::string report = {};  // what was read, assumed and fitted, for people
  std::string json = {};    // the same for programs: what 'chorale topology import --json' writes
};

// Several files are nodes that are joined. Throws InputError for what cannot be read or does not go together.
ImportedMachine import_machine(const std::vector<NamedText>& files, const ImportOptions& = {});

// A file in another tool's format, which machine() takes, too.
bool is_foreign_file(const std::string& spec_or_file);

// What was read in such a file and what it lacks and was assumed, in lines, for reports on the machine; of a
// machine by name, what its switches are taken for; "" for all other machines. Throws InputError as
// import_machine() does.
std::string provenance_of(const std::string& spec_or_file, const ImportOptions& = {});

// The machine that this process is on.
struct DiscoveredMachine {
  ImportedMachine machine = {};  // named "here"
  std::string lacked = {};       // what was asked before had no GPU, and why; "": it was the first
};
// By `nccl_files`, descriptions that NCCL reads or writes here, which are the best, since they have NVLinks
// and NICs with their speed; else by nvidia-smi; else by hwloc: the first that shows a GPU. Throws InputError
// where none does.
DiscoveredMachine discover_machine(const std::vector<std::string>& nccl_files, const ImportOptions& = {});

// The levels that an outline for this machine can name: those of its description, or, of a graph without
// levels, its nodes of equal graphs. Throws InputError if there are none.
Nesting nesting(const std::string& spec_or_file, const MachineChanges& = {});
// The same; empty if there are none.
std::optional<Nesting> nesting_if_any(const std::string& spec_or_file, const MachineChanges& = {});

// The ranks of that machine, as it is without failures, that the changes leave out (topology/changes.h).
std::vector<Rank> ranks_gone(const std::string& spec_or_file, const MachineChanges&);

// [rank] -> number of its host, of a machine by name or from a file; empty if the machine does not define
// hosts. It does if it has levels outside of a node, and a message takes longer there than inside: other
// levels (the rows of a torus) may be of one host or of many.
std::vector<int> hosts_of(const std::string& spec_or_file);

// Returns a row per machine.
Report report_of(const std::vector<CatalogueEntry>&);
// Returns a row per level, outermost first. "25 for 4" is an exit or a detour of 25 GB/s for four children
// together; "each" the rate of one port or ring link in one direction; "one stream" the most that one flow
// gets, where that is less than all ports.
Report report_of(const Hierarchy&);
// Returns what links, GPUs, NICs and switches carry and cost, a source beside each number
// (topology/hardware/facts.h).
Report report_of_facts();

}  // namespace chorale
