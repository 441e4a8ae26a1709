// A machine as text for people, and for graphviz.
#pragma once

#include <string>

#include "ir/hierarchy.h"
#include "ir/report.h"
#include "ir/topology.h"

namespace chorale {

// "3", "switch0".
std::string name_of(const Topology&, Node);

// Returns ranks, switches and links, degrees and diameter; the shared limits; the cost of a step.
Report report_of(const Topology&);

// A machine as a graph for graphviz. Links in both directions are drawn once, switches as boxes, limits
// listed below. Of several levels, a box is drawn around each unit.
std::string to_dot(const Topology&, const Hierarchy* levels = nullptr);

}  // namespace chorale
