// What a description of a machine by another tool leaves open.
#pragma once

#include <span>
#include <string>

#include "ir/option.h"

namespace chorale {

struct ImportOptions {
  int nodes = 1;        // of one file that describes a node: this many of them, joined by their NICs
  double error = 0.05;  // at most, of a rate as chunks per round
  // The type of a cloud machine, which has what its file lacks: NVLinks, NICs, their speed. "": by the file.
  std::string instance = {};
  double nic_gbits = 0;               // speed of NICs whose file lacks it; 0: by their kind
  double nvlink_gbs = 0;              // of one NVLink or xGMI link, each direction; 0: by the kind of GPU
  bool network_within_nodes = false;  // GPUs of one node also have paths through the network to each other
  bool operator==(const ImportOptions&) const = default;
};

// On the command line and in Python. A new one is a member and a row.
std::span<const OptionRow<ImportOptions>> import_rows();

}  // namespace chorale
