// A machine as a graph for graphviz.
#pragma once

#include <string>

#include "ir/hierarchy.h"
#include "ir/topology.h"

namespace chorale {

// Links in both directions are drawn once, switches as boxes, limits listed below. Of several levels, a box
// is drawn around each unit.
std::string to_dot(const Topology&, const Hierarchy* levels = nullptr);

}  // namespace chorale
