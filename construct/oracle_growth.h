// Growth (tree_growth.h) over any paths, under the feasibility oracle.
#pragma once

#include <optional>
#include <vector>

#include "construct/quotient_instance.h"
#include "construct/work_budget.h"
#include "ir/schedule.h"

namespace chorale {

// A schedule of at most `rounds` rounds if found, else of a few more, at most `most`. Nothing if `most` is
// too few, when stopped, or when the work budget ends; a unit of work is one chunk that a rank may lack, at
// one rank that may have it. `block`: [rank] -> block of ranks that each chunk should enter once (the
// receiving side of a tight cut and its images); all 0 if there are none. The same seed gives the same
// schedule. Requires at most 64 entries per rank.
std::optional<Schedule> grow_with_oracle(const QuotientInstance&, int rounds, int most,
                                         const std::vector<int>& block, unsigned seed, WorkBudget& effort);

}  // namespace chorale
