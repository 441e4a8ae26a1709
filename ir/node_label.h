// Names of nodes for people, from their labels (Topology::labels).
#pragma once

#include <string>

#include "ir/topology.h"

namespace chorale {

// Returns "gpu5" of the label "gpu5 (0000:9b:00.0), mlx5_3"; the same name for the two nodes that a part may
// have, one for each direction; "" where the node has no label.
std::string label_of(const Topology&, Node);

}  // namespace chorale
