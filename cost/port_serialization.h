// When messages that share a port should go one after the other (LoweringOptions::serialize_ports).
#pragma once

#include "ir/topology.h"

namespace chorale {

// Where chunks have more bytes than this. A chunk then takes so long over a link that a message's latency is
// less than 1 % of it: what one more epoch may cost is less than what it saves. Infinite where bytes cost
// nothing.
double serialized_above(const Topology&);

}  // namespace chorale
