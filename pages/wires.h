// The wires between nodes that have their spots.
#pragma once

#include "pages/placed.h"

namespace chorale {

// Wires and paths of the picture, whose nodes are those of Placed. A wire that would run over a node goes
// round it.
void add_wires(const Parts&, const Placed&, Picture&);

// The point of a wire: a quadratic curve whose middle is `bend` beside the straight line.
Spot on_wire(const Spot& from, const Spot& to, double bend, double along);

}  // namespace chorale
