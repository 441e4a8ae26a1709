// Jobs put into steps, by list scheduling: in a step each link takes, of what may go over it, what is most
// urgent.
#pragma once

#include <functional>

#include "construct/jobs.h"
#include "construct/work_budget.h"

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

// A plan for each of some widths: of few wide steps, of many thin ones, and between. Widths that exceed the
// work budget or `most_steps` give none. `copies` of the packing follow each other.
void order(const Jobs&, int copies, int most_steps, WorkBudget&, const FoundPlan&);

}  // namespace chorale
