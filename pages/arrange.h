// Where the nodes of a graph are drawn, so that one recognises what it is. A graph whose numbers show its
// shape has a template: a circle of equal steps, rows and columns, two halves, rows joined straight down.
// Graphviz lays out all others.
#pragma once

#include <string>
#include <vector>

#include "pages/graphviz.h"

namespace chorale {

// An edge that goes round: drawn out of the picture at one node, and into it at the other.
struct Wrap {
  int a = 0, b = 0;
  Spot out = {};  // how far it leaves a; it comes as far to b from the other side
};

struct Arrangement {
  std::string shape = {};  // in words: "torus 8 x 8"; empty where it has no template
  std::vector<Spot> spots = {};
  std::vector<Wrap> wraps = {};
};

// Returns the picture of the graph; the same graph always gets the same one where there is work for it.
Arrangement arrange(const Graph&, DrawingWork&);

}  // namespace chorale
