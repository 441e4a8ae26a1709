// In which round of its step each send of a schedule goes. A schedule states only how many rounds a step has
// and that no link and no shared limit carries more than rounds * bandwidth chunks in it; what a page
// animates are rounds.
#pragma once

#include <vector>

#include "ir/schedule.h"
#include "pages/picture.h"

namespace chorale {

// The round, from 0, of each send of the step, such that in no round a link or a shared limit carries more
// than its bandwidth. Empty where none was found (there may be none: three sends, each two of them under a
// limit of one, fit two rounds by their sum and not whole), or not with the work that is left: then every
// send is to be drawn as a stream over all rounds of the step, 1 / rounds of a chunk in each, which always
// fits. Requires a step that obeys the limits of the topology.
std::vector<int> rounds_of_sends(const Topology&, const Step&, DrawingWork&);

}  // namespace chorale
