// A schedule's sends in other steps.
#pragma once

#include <vector>

#include "construct/effort.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Schedules of the same sends, each as early as what it reads is there and as links and limits have room, in
// steps of at most so many rounds, from 1 on, growing by a third (but for what must happen at once and takes
// more). Every rank's values come about as before, so what the schedule does it still does. What follows each
// other in it but is of other chunks and over other links now overlaps. Requires a schedule that the referee
// accepts. There are as many as the effort allows.
std::vector<Schedule> retimings(const Topology&, const Schedule&, Effort&);

}  // namespace chorale
