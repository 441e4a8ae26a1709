// Where the nodes of a graph are drawn, so that one recognises what it is: rings, lines, grids and tori,
// hypercubes, stars, trees, products such as the two quads of a DGX-1; and nodes near their neighbours for
// all others.
#pragma once

#include <string>
#include <vector>

#include "pages/drawing_work.h"
#include "pages/factors.h"
#include "pages/spot.h"

namespace chorale {

// An edge that goes round: drawn out of the picture at one node, and into it at the other.
struct Wrap {
  int a = 0, b = 0;
  Spot out = {};  // how far it leaves a; it comes as far to b from the other side
};

struct Arrangement {
  std::string shape = {};  // in words: "torus 8 x 8"; empty where it has no name
  std::vector<Spot> spots = {};
  std::vector<Wrap> wraps = {};
};

// The same graph always gets the same picture, where there is work for it; else its nodes stand in rows.
Arrangement arrange(const Graph&, DrawingWork&);

// Nodes near those to which they have few hops (stress majorization; Gansner, Koren, North 2004), pushed
// apart where they would overlap. More than 256 of them stand in rows.
std::vector<Spot> spread_out(const Graph&, DrawingWork&);

}  // namespace chorale
