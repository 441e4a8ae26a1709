// The spots of everything that is drawn but the lines: what draw.cpp has from layers.cpp and boxes.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/topology.h"
#include "pages/picture.h"

namespace chorale {

// Where the nodes of a graph are drawn, so that one recognises what it is. A graph whose numbers show its
// shape has a template: a circle of equal steps, rows and columns, two halves, rows joined straight down.
// Graphviz lays out all others (arrange.cpp).

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

// The switches of a flattened machine, found again: schedules name direct links between ranks, and what was a
// switch is shared limits over them.
//
// Where `flatten` made them, each limit has its cable (SharedLimit::cables), and the cables of a link lead
// from its source to its destination. Otherwise limits over the links out of a rank, or into it, are read as
// its ports, and ports that have links in common meet in a switch: what lies between switches is not known.
// Links that are over nothing stay direct, as those of a ring whose ranks have ports do.

struct Fabric {
  // Their names, switch i is node ranks + i: "switch3", as 'topology show' has it, where cables are known;
  // else "NVSwitch0" by the first word of their limits.
  std::vector<std::string> switches = {};
  bool by_cables = false;                       // else there may be more
  std::vector<std::vector<Node>> through = {};  // by link: the switches on its route, from its source on
  // Chunks per round of cables that several links share, by their ends; others have that of their link.
  std::map<std::pair<Node, Node>, int> capacity = {};
};

// Requires a topology without switches (flattened).
Fabric fabric_of(const Topology&);

// The components of a machine, for drawing: its switches, its servers, and what is joined to what.

struct Parts {
  const Topology& t;
  Fabric fabric = {};
  // Servers: none, or all ranks, each in one.
  std::vector<std::vector<Rank>> boxes = {};
  std::vector<std::set<int>> near = {};  // by rank and switch: what a link leads to without another between
  DrawingWork* work = nullptr;           // never null
  const char* word_of_box = "node";      // "group" where latencies have several borders
  bool has_spines = false;               // leaves or NICs of boxes, which switches without ranks join
  int switches() const { return static_cast<int>(fabric.switches.size()); }
};

// Requires a topology without switches (flattened), which outlives the parts, as the work does.
Parts parts_of(const Topology&, DrawingWork&);

// The nodes on the route of a link, its ends included.
std::vector<int> stops(const Parts&, LinkId);

// The given ranks and switches as a graph of their own, numbered in their order.
Graph graph_among(const Parts&, const std::vector<int>& nodes);

struct Placed {
  std::string shape = {};
  std::vector<PictureNode> nodes = {};  // ranks, switches, NICs
  std::vector<Wrap> wraps = {};
  std::vector<Box> boxes = {};
  std::vector<int> box_of = {};  // by node; -1: in none
  std::vector<int> nic_of = {};  // by rank; -1: none
};

// Switches that are joined among themselves above the ranks, each as many layers up as it has hops to the
// nearest rank; those over the same ranks share the width of these.
Placed place_in_layers(const Parts&);

// Servers as boxes, which face each other, with the switches that join them in between. None where there are
// none, or more than two that are joined by links alone.
std::optional<Placed> place_in_boxes(const Parts&);

// Ranks and switches with their names, at no spots yet.
Placed unplaced(const Parts&);

// `count` numbers over [left, right], each in the middle of its part; no nearer than `least`, about the same
// middle.
std::vector<double> evenly(double left, double right, std::size_t count, double least);

// 0 .. count - 1
std::vector<int> numbers_below(int count);

// The lines between nodes that have their spots.

// Lines and paths of the picture, whose nodes are those of Placed. A line that would run over a node goes
// round it.
void add_lines(const Parts&, const Placed&, Picture&);

// The point of a line: a quadratic curve whose middle is `bend` beside the straight line.
Spot on_line(const Spot& from, const Spot& to, double bend, double along);

}  // namespace chorale
