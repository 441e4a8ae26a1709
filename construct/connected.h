#pragma once
#include "ir/topology.h"
namespace chorale {
bool all_reach_all(const Topology&);
}
