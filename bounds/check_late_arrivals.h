// Checks certificates of kind Entries (late-arrival bounds). Shares no code with late_arrivals.cpp.
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

std::string late_arrivals_fault(const Topology&, const Collective&, const Claim&);

}  // namespace chorale
