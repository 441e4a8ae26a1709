// Plans an Alltoallv whose counts are known only when it is called, in milliseconds and without a search, the
// same on every rank: what each node has for another is spread evenly over the NICs of both.
#pragma once

#include "ir/alltoallv.h"

namespace chorale {

// Returns the plan with the least predicted time, of the direct one and of those that spread, in 1 to 32
// stages. Requires counts of as many ranks as the tiers have, none negative, at most 2^60 bytes together.
AlltoallvPlan plan_alltoallv(const TwoTiers&, const ByteCounts&);

// Each block straight to its rank, in one step.
AlltoallvPlan direct_alltoallv(const TwoTiers&, const ByteCounts&);

}  // namespace chorale
