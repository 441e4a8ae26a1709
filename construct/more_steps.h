// A schedule split into more steps, of fewer rounds each.
#pragma once

#include <optional>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Steps split until there are at most `extra` rounds more than steps: k-synchronous, for k = extra >= 0.
// Nothing if the verifier refuses the result: a sum whose ranks exchange what they have in one step cannot
// always be taken apart. `first_steps`, if given, counts the first steps of a phase, and counts them after
// the split.
std::optional<Schedule> in_more_steps(const Topology&, const Collective&, const Schedule&, int extra,
                                      int* first_steps = nullptr);

// Does the same to a point, its cost with it. False, and nothing changed, where it cannot be.
bool fit_in_more_steps(const Topology&, Point&, int extra);

}  // namespace chorale
