// Node positions for graphs without a regular shape.
#pragma once

#include "pages/drawing_work.h"
#include "pages/factors.h"
#include "pages/spot.h"

namespace chorale {

// Moves the spots until distances on paper are near to hops (times 1.6): stress majorization, 300 sweeps, or
// as many as there is work for.
void lessen_stress(std::vector<Spot>&, const Graph&, DrawingWork&);

// Moves those that are nearer than `least` away from each other, and others as little as that needs.
void push_apart(std::vector<Spot>&, double least, DrawingWork&);

}  // namespace chorale
