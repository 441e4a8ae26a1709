// What a foreign description of a machine leaves open.
#pragma once

#include <string>

namespace chorale {

struct ImportChoices {
  std::string instance = {};  // the type of a cloud machine; empty: by the file
  double nic_gbits = 0;       // speed of NICs whose file lacks it; 0: by their kind
};

struct ImportOptions {
  int nodes = 1;        // of one file that describes a node: this many of them, joined by their NICs
  double error = 0.05;  // at most, of a rate as chunks per round
  bool network_within_nodes = false;  // GPUs of one node also have paths through the network to each other
  ImportChoices choices = {};
};

}  // namespace chorale
