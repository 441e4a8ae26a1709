// Messages on a time axis: a row per link, a bar from when a message begins to when it has left, and a line
// until it is there.
#pragma once

#include <string>
#include <vector>

namespace chorale {

struct EventBar {
  double begin_us = 0, left_us = 0, there_us = 0;
  bool is_critical = false;
  std::string words = {};  // of its tooltip
};

struct EventRow {
  std::string name = {};  // "3 -> 7"
  std::vector<EventBar> bars = {};
};

struct EventFigure {
  std::string title = {};
  double us = 0;  // the length of the axis, > 0
  std::vector<EventRow> rows = {};
};

// An SVG file by itself, and as an element of a page, whose colours it takes (page.css).
std::string event_figure_svg(const EventFigure&);

}  // namespace chorale
