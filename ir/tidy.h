// From the sends of a model to a schedule: what every decoder does last.
#pragma once

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Drops sends that lead to no destination, second arrivals of a copy (collectives that do not combine) and
// empty steps, sorts the sends, and gives each step the fewest rounds that its links and limits need.
Schedule tidy(const Topology&, const Collective&, Schedule raw);

}  // namespace chorale
