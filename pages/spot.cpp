// Positions in units: the width of a rank's circle with some air is one.
#include "pages/spot.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace chorale {

double apart(const Spot& a, const Spot& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

// Neighbours on the circle are `spacing` apart: the chord of 2 pi / n is 2 r sin(pi / n).
std::vector<Spot> circle_of(int nodes, double spacing) {
  const double pi = std::numbers::pi;
  const double radius = nodes < 2 ? 0 : spacing / 2 / std::sin(pi / nodes);
  std::vector<Spot> spots;
  const double first = nodes == 4 ? -pi / 4 : nodes == 2 ? -pi / 2 : 0;  // a square, and two side by side
  for (int i = 0; i < nodes; ++i) {
    const double angle = first + 2 * pi * i / nodes;
    spots.push_back({.x = radius * std::sin(angle), .y = -radius * std::cos(angle)});
  }
  return spots;
}

// The closest two become one unit apart; pictures that are wider than that stay.
void scale_to_unit(std::vector<Spot>& spots) {
  double least = 1e300;
  for (std::size_t a = 0; a < spots.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) least = std::min(least, apart(spots[a], spots[b]));
  if (least >= 1 || least <= 0) return;
  for (Spot& s : spots) s = {.x = s.x / least * 1.0001, .y = s.y / least * 1.0001};
}

}  // namespace chorale
