// A machine as text for people.
#pragma once

#include <string>

#include "ir/topology.h"
#include "topology/levels.h"

namespace chorale {

// "3", "switch0".
std::string name_of(const Topology&, Node);

// Ranks, links by kind, limits, degrees, diameter; what 'chorale topology show' prints.
std::string describe(const Topology&);

// One line per level, or the reason why there are none.
std::string describe(const Levels&);

}  // namespace chorale
