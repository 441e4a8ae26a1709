// Records of a node's description that are odd among their like: what most GPUs, cables and NICs of a node
// have, the others should have. Small differences of real machines are no oddity: three quarters have to
// agree, and storage NICs, bridged pairs and half-filled boards are as they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/import/host.h"

namespace chorale {

struct Oddity {
  std::string text = {};            // "dgx.xml:17: gpu 5 (0000:9b:00.0) has no NVLink, where 7 of 8 GPUs ..."
  std::optional<Host> healed = {};  // the node if that record were as the others; none: not known
};

// Returns what the readers found odd (Host::odd), and what is odd among the parts and cables of the node.
std::vector<Oddity> oddities(const Host&);

}  // namespace chorale
