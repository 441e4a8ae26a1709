// What is wrong with a strategy.
#pragma once

#include <optional>
#include <vector>

#include "ir/error.h"
#include "ir/placement.h"

namespace chorale {

// The verifier's fault in a strategy over levels of these sizes (sizes[0] = 1 is the root): at true size up
// to kMostVerifiedDevices devices; beyond that with some levels shrunk (none below 2), since groups at
// different positions of a level behave alike. Nothing: valid.
std::optional<Fault> strategy_fault(const std::vector<int>& sizes, const Strategy&);

}  // namespace chorale
