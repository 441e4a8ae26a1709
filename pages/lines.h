// The lines between nodes that have their spots.
#pragma once

#include "pages/placed.h"

namespace chorale {

// Lines and paths of the picture, whose nodes are those of Placed. A line that would run over a node goes
// round it.
void add_lines(const Parts&, const Placed&, Picture&);

// The point of a line: a quadratic curve whose middle is `bend` beside the straight line.
Spot on_line(const Spot& from, const Spot& to, double bend, double along);

}  // namespace chorale
