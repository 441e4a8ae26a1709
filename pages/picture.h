// A machine as it is drawn: ranks, the switches between them, boxes (servers) with a NIC where a rank's lines
// leave its box; and for each link, over which lines it runs. All by structure: names give no shape.
#pragma once

#include <string>
#include <vector>

#include "pages/spot.h"

namespace chorale {

struct PictureNode {
  enum class Kind { Rank, Switch, Nic };
  Kind kind = Kind::Rank;
  std::string name = {};
  Spot at = {};
  double width = 0.56;  // a rank is a circle, everything else a rectangle
  double height = 0.56;
};

struct Line {
  int a = 0, b = 0;           // nodes,
  Spot start = {}, end = {};  // and where it meets them: beside the middle of a wide switch
  // Chunks per round of the cable, or of the widest link over it; of direct links, their sum.
  int bandwidth = 1;
  bool there = false;  // links run from a to b,
  bool back = false;   // from b to a
  double bend = 0;     // how far its middle lies beside the straight line, to the left of a -> b on paper
  bool wraps = false;  // it goes round: drawn as a stub at each end,
  Spot out = {};       // as far as this out of a, and as far into b from the other side
};

struct Box {
  std::string name = {};
  double left = 0, top = 0, right = 0, bottom = 0;
  bool name_below = false;  // written under it, not above
};

struct Picture {
  std::string shape = {};               // in words, of the machine; empty where it has no name
  std::vector<PictureNode> nodes = {};  // the ranks come first
  std::vector<Line> lines = {};
  std::vector<std::vector<int>> routes = {};  // by link: the lines that it runs over, from its source on
  std::vector<Box> boxes = {};
  double width = 0, height = 0;  // everything lies within, in units (arrange.h)
};

}  // namespace chorale
