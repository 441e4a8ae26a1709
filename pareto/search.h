// The complete frontier over (steps, rounds/chunks).
#pragma once

#include "ir/machine.h"
#include "ir/search_options.h"

namespace chorale {

// The Pareto frontier of the space, over all chunk counts, with claims that prove it. The first points are
// those that need no solver (construct/engine.h). A limit or `stop` leaves what was found, marked unproven,
// and the reason in Result::stopped. More chunks, work or time find no less.
Result search_frontier(const Machine&, const Collective& one_chunk, const FrontierOptions&);

}  // namespace chorale
