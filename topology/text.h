// A machine as text for people, and for graphviz.
#pragma once

#include <string>

#include "ir/hierarchy.h"
#include "ir/topology.h"
#include "topology/levels.h"

namespace chorale {

// "3", "switch0".
std::string name_of(const Topology&, Node);

// Ranks, links by kind, limits, degrees, diameter; what 'chorale topology show' prints.
std::string describe(const Topology&);

// One line per level, or the reason why there are none.
std::string describe(const Levels&);

// A machine as a graph for graphviz. Links in both directions are drawn once, switches as boxes, limits
// listed below. Of several levels, a box is drawn around each unit.
std::string to_dot(const Topology&, const Hierarchy* levels = nullptr);

}  // namespace chorale
