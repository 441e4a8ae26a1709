// A small packing repeated: its jobs get slots of a period once, and each copy follows the one before by a
// period (software pipelining; modulo scheduling, Rau 1994).
#pragma once

#include <functional>

#include "construct/jobs.h"
#include "construct/order.h"
#include "construct/work_budget.h"

namespace chorale {

// Is a plan of `copies`, `steps` and `rounds`, or a little more of each, of use?
using WorthPlan = std::function<bool(int copies, int steps, double rounds)>;

// Plans of more and fewer copies, none of more than `most_copies` or `most_steps`. `enough`: if rounds per
// copy are at most this factor over those of the packing (1.002: 0.2 %), more copies are not tried. A period
// of the packing's rounds has from one slot to one per round.
void pipeline(const Jobs&, long long rounds, int most_copies, int most_steps, double enough, WorkBudget&,
              const WorthPlan&, const FoundPlan&);

}  // namespace chorale
