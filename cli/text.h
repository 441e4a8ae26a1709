// Numbers as people read them.
#pragma once

#include <string>
#include <vector>

#include "ir/topology.h"

namespace chorale {

// "0-3, 7".
std::string ranges(std::vector<int> sorted_numbers);

// What claims about the machine presuppose: "; its switches multicast, and what is proven holds for such"; or
// nothing.
std::string under_abilities(const Topology&);

}  // namespace chorale
