// A machine from files of other tools: descriptions of a node by drivers, and of machines by other
// synthesizers and simulators (docs/topologies.md).
#pragma once

#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/import_options.h"
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

// The machine that this process is on.
struct DiscoveredMachine {
  ImportedMachine machine = {};  // named "here"
  std::string lacked = {};       // what was asked before had no GPU, and why; "": it was the first
};
// By `nccl_files`, descriptions that NCCL reads or writes here, which are the best, since they have NVLinks
// and NICs with their speed; else by nvidia-smi; else by hwloc: the first that shows a GPU. Throws InputError
// where none does.
DiscoveredMachine discover_machine(const std::vector<std::string>& nccl_files, const ImportOptions& = {});

}  // namespace chorale
