// What is to be different about a machine: cables that failed, ranks that are gone, links that are slow,
// switches that compute; and what the file of another tool leaves open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/option.h"
#include "ir/topology.h"

namespace chorale {

// What a description of a machine by another tool leaves open.

struct ImportOptions {
  int nodes = 1;        // of one file that describes a node: this many of them, joined by their NICs
  double error = 0.05;  // at most, of a rate as chunks per round
  // The type of a cloud machine, which has what its file lacks: NVLinks, NICs, their speed. "": by the file.
  std::string instance = {};
  double nic_gbits = 0;               // speed of NICs whose file lacks it; 0: by their kind
  double nvlink_gbs = 0;              // of one NVLink or xGMI link, each direction; 0: by the kind of GPU
  bool network_within_nodes = false;  // GPUs of one node also have paths through the network to each other
  // Rates of datasheets, instead of those that programs reach (topology/hardware/facts.h). Of machines by
  // name, too.
  bool line_rates = false;
  // Switches copy and add where the hardware does (NVLS); of any machine: they only forward, or a machine
  // that has none that can is refused.
  bool forward_only = false;
  bool in_network = false;
  bool operator==(const ImportOptions&) const = default;
};

// On the command line and in Python. A new one is a member and a row.
std::span<const OptionRow<ImportOptions>> import_rows();

// Nodes by the names that 'chorale topology show' prints: "3", "switch0". A link is "A-B" for both
// directions, "A>B" for one; all links between the two are meant.
struct MachineChanges {
  std::vector<std::string> without_links = {};  // "0-1"; "gpu5": all of its
  std::vector<std::string> without_ranks = {};  // "5", "gpu5"
  std::vector<std::string> degraded = {};       // "0-1=0.5": what is left of the bandwidth
  Abilities switches = {};                      // that all of them are given
  std::optional<double> call_us = {};           // what a call costs; else what the description has
  ImportOptions import = {};                    // of a file of another tool; else the default
  // Are links, ranks or switches other than described?
  bool any() const {
    return !without_links.empty() || !without_ranks.empty() || !degraded.empty() || switches.any();
  }
  bool operator==(const MachineChanges&) const = default;
};

}  // namespace chorale
