// One question instead of a frontier.
#pragma once

#include "ir/search_options.h"

namespace chorale {

// Returns a schedule within a budget, as a result of one point (kind Synthesis).
SynthesisResult search_synthesis(const Topology&, const Collective& one_chunk, const SynthesisQuestion&,
                                 const FrontierOptions&);

}  // namespace chorale
