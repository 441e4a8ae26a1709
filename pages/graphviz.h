// Layouts by Graphviz, for graphs without a template.
#pragma once

#include <vector>

#include "pages/drawing_work.h"
#include "pages/spot.h"

namespace chorale {

// Simple and undirected: sorted neighbours of each node.
using Graph = std::vector<std::vector<int>>;

// Returns spots for nodes of the given widths, none on another: by the program `neato` (Graphviz) where it is
// installed, for at most 256 nodes and 8,000 edges and where there is work for it; else round a circle.
std::vector<Spot> spread_out(const Graph&, const std::vector<double>& widths, DrawingWork&);

}  // namespace chorale
