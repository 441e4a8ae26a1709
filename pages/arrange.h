// Where the nodes of a graph are drawn, so that one recognises what it is. A graph whose numbers show its
// shape has a template: a circle of equal steps, rows and columns, two halves, rows joined straight down.
// Graphviz lays out all others.
#pragma once

#include <string>
#include <vector>

#include "pages/picture.h"

namespace chorale {

double apart(const Spot&, const Spot&);

std::vector<Spot> circle_of(int nodes, double spacing);

// Moves them away from each other, together, until the nearest two are one unit apart.
void scale_to_unit(std::vector<Spot>&);

// Simple and undirected: sorted neighbours of each node.
using Graph = std::vector<std::vector<int>>;

// Returns spots for nodes of the given widths, none on another: by the program `neato` (Graphviz) where it is
// installed, for at most 256 nodes and 8,000 edges and where there is work for it; else round a circle.
std::vector<Spot> spread_out(const Graph&, const std::vector<double>& widths, DrawingWork&);

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
