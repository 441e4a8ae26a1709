// The components of a machine, for drawing: its switches, its servers, and what is joined to what.
#pragma once

#include <set>
#include <vector>

#include "pages/arrange.h"
#include "pages/fabric.h"

namespace chorale {

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

}  // namespace chorale
