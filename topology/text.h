// A machine as text for people.
#pragma once

#include <string>

#include "ir/topology.h"

namespace chorale {

// Ranks, links by kind, limits, degrees, diameter; what 'chorale topology show' prints.
std::string describe(const Topology&);

}  // namespace chorale
