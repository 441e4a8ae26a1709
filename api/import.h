// A machine from files of other tools: descriptions of a node by drivers, and of machines by other
// synthesizers and simulators (docs/topologies.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/option.h"
#include "ir/topology.h"

namespace chorale {

struct ImportQuestion {
  int nodes = 1;              // of one file that describes a node: this many of them, joined by their NICs
  double error = 0.05;        // at most, of a rate as chunks per round
  std::string instance = {};  // the type of a cloud machine whose file shows PCI only; "": by the file
  double nic_gbits = 0;       // speed of NICs whose file lacks it; 0: by their kind
  bool network_within_nodes = false;  // GPUs of one node also have paths through the network to each other
  bool operator==(const ImportQuestion&) const = default;
};

// On the command line and in Python. A new one is a member and a row.
std::span<const OptionRow<ImportQuestion>> import_rows();

struct ImportedMachine {
  Topology machine = {};                // with its switches
  std::vector<std::string> names = {};  // by node: what it is in the files
  std::string report = {};              // what was read, assumed and fitted, for people
  std::string json = {};                // the same for programs: what 'chorale topology import --json' writes
};

// Several files are nodes that are joined. Throws InputError for what cannot be read or does not go together.
ImportedMachine import_machine(const std::vector<NamedText>& files, const ImportQuestion& = {});

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
DiscoveredMachine discover_machine(const std::vector<std::string>& nccl_files, const ImportQuestion& = {});

}  // namespace chorale
