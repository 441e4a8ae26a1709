// Bounds from hops: a value moves over one link a step.
#pragma once

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// The value that has to travel farthest.
struct Farthest {
  int steps = 0;
  Chunk chunk = 0;
  Rank rank = 0;  // as in a Distance certificate: the destination; of a sum, the contributor
};

// Throws InputError if there is no path.
Farthest farthest(const Topology&, const Collective&);

}  // namespace chorale
