// Checks certificates of kind Growth: tries every spreading of the chunks, counting ranks only. Shares no
// code with growth.cpp.
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

std::string growth_fault(const Topology&, const Collective&, const Claim&);

}  // namespace chorale
