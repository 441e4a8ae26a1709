// One instance answered: bounds first, then symmetric schedules, then the full formula. What leaves here is
// verified.
#pragma once

#include "ir/instance.h"
#include "ir/search_options.h"
#include "pareto/answer.h"

namespace chorale {

// `collective` with its chunks, `budget` as limits from above.
Answer synthesize(const Topology&, const Collective&, const Budget&, const SynthesisOptions& = {});

}  // namespace chorale
