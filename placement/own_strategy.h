// A strategy that a user brings: is it one, and how long does it take?
#pragma once

#include "ir/place_options.h"

namespace chorale {

// The user's strategy under this matrix. `fault` is set if its levels do not exist, or if the verifier
// refuses it (at true size up to 64 devices, beyond that on a machine with fewer of each), with the
// instruction at which it becomes invalid; else the times of its instructions, in the model in which the
// others are priced. Requires a reduction whose goal is the sum, over at least one level.
OwnStrategy evaluated(const Hierarchy&, const Job&, int reduction, const ParallelismMatrix&, Algorithm,
                      const NamedStrategy&);

}  // namespace chorale
