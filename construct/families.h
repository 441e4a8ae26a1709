// Chunks that start in the same ranks.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// By their first chunk.
std::vector<std::vector<Chunk>> starting_together(const Collective&);

// Does the collective copy each chunk from some ranks to all others, all within reach?
bool copies_to_all(const Topology&, const Collective&);

}  // namespace chorale
