// A machine as a graph for graphviz.
#pragma once

#include <string>

#include "ir/topology.h"

namespace chorale {

// Links in both directions are drawn once, switches as boxes, limits listed below.
std::string to_dot(const Topology&);

}  // namespace chorale
