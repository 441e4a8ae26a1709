// The complete frontier over (steps, rounds/chunks).
#pragma once

#include "ir/search_options.h"

namespace chorale {

// Points for every chunk count, those on the merged frontier marked; claims that prove them. The first points
// are those that need no search (construct/incumbents.h). A limit or `stop` leaves what was found, marked
// unproven, and says why in Result::stopped. Chunk counts are searched from the smallest on, and none looks at
// what larger ones found, so that asking for more finds no less.
Result search_frontier(const Topology&, const Collective& one_chunk, const FrontierOptions&);

// One question instead of all: a schedule within a budget, as a result of one point (kind Synthesis).
SynthesisResult search_synthesis(const Topology&, const Collective& one_chunk, const SynthesisQuestion&,
                                 const FrontierOptions&);

}  // namespace chorale
