// The spots of everything that is drawn but the lines: what draw.cpp has from layers.cpp and boxes.cpp.
#pragma once

#include <optional>

#include "pages/arrange.h"
#include "pages/parts.h"
#include "pages/picture.h"

namespace chorale {

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

}  // namespace chorale
