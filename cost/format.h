// Ranges of sizes as people write them.
#pragma once

#include <string>

#include "cost/cost.h"

namespace chorale {

std::string format_range(
    const SizeRange&);  // "below 1.5 KiB", "1.5 KiB to 3 MiB", "from 3 MiB", "any", "none"

}  // namespace chorale
