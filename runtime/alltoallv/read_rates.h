// Rates of the two tiers as text.
#pragma once

#include <string_view>

#include "ir/alltoallv.h"

namespace chorale {

// Reads "nics=8,nic=50,node=450,latency=5", in any order; what is left out has its default. Throws
// InputError, which names `where`.
TierRates read_tier_rates(std::string_view text, std::string_view where);

}  // namespace chorale
