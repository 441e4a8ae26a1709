// Jobs put into steps, by list scheduling: in a step each link takes, of what may go over it, what is most
// urgent.
#pragma once

#include <functional>

#include "construct/engine/jobs.h"
#include "construct/engine/work_budget.h"

namespace chorale {

// How wide steps are: each has max(least, share of what the fullest bin still needs) rounds, and,
// `by_supply`, no more than what is ready at the bins that are nearly the fullest can use.
struct Widths {
  int least = 1;
  double share = 0;
  bool by_supply = false;
};

// Called with each plan, and its number of copies of the packing.
using FoundPlan = std::function<void(int copies, const StepAssignment&)>;

// Calls with a plan for each of some widths: of few wide steps, of many thin ones, and between. Widths that
// exceed the work budget or `most_steps` give none. `copies` of the packing follow each other.
void order(const Jobs&, int copies, int most_steps, WorkBudget&, const FoundPlan&);

// A small packing repeated: its jobs get slots of a period once, and each copy follows the one before by a
// period (software pipelining; modulo scheduling, Rau 1994).

// Is a plan of `copies`, `steps` and `rounds`, or a little more of each, of use?
using WorthPlan = std::function<bool(int copies, int steps, double rounds)>;

// Plans of more and fewer copies, none of more than `most_copies` or `most_steps`. `enough`: if rounds per
// copy are at most this factor over those of the packing (1.002: 0.2 %), more copies are not tried. A period
// of the packing's rounds has from one slot to one per round.
void pipeline(const Jobs&, long long rounds, int most_copies, int most_steps, double enough, WorkBudget&,
              const WorthPlan&, const FoundPlan&);

}  // namespace chorale
