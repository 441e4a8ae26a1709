// Points in the plane of a picture.
#pragma once

#include <vector>

namespace chorale {

// x to the right, y down, in units. Two nodes are at least one unit apart.
struct Spot {
  double x = 0;
  double y = 0;
};

double apart(const Spot&, const Spot&);

std::vector<Spot> circle_of(int nodes, double spacing);

// Moves them away from each other, together, until the nearest two are one unit apart.
void scale_to_unit(std::vector<Spot>&);

}  // namespace chorale
