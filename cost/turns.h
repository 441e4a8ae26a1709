// When messages that share a port should take turns (codegen/passes/turns.h).
#pragma once

#include "ir/topology.h"

namespace chorale {

// Where a chunk of so many bytes takes so long over a link that a message's latency is nothing beside it, less than 1 %: what a
// turn more may cost is less than what it saves.
bool worth_turns(const Topology&, double chunk_bytes);

}  // namespace chorale
