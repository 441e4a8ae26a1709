// Checks certificates of kind Entries (late-arrival bounds). Shares no code with entries.cpp.
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

std::string entries_fault(const Topology&, const Collective&, const Claim&);

}  // namespace chorale
