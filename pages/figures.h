// Time and bus bandwidth over message size, the figure that papers of the field have: two panels with a
// logarithmic axis of sizes, one curve per algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chorale {

struct SizeCurve {
  enum class Kind { Found, Baseline, Bound, Measured, Second, SecondBound };  // of a second machine or result
  Kind kind = Kind::Found;
  std::string name = {};
  std::vector<double> us = {};  // [size] -> microseconds; 0: not known at this size
  double bus_factor = 0;        // 0: that of the figure
};

struct SizeFigure {
  std::string title = {};                        // "allreduce on dgx-a100:2"
  std::vector<std::int64_t> message_bytes = {};  // rising, > 0
  double bus_factor = 1;                         // bus bandwidth is size / time times this (cost/busbw.h)
  std::vector<SizeCurve> curves = {};
};

// An SVG file by itself, and as an element of a page, whose colours it takes (page.css). Each mark has a
// title with its size, time and bus bandwidth. Requires a size and a curve.
std::string size_figure_svg(const SizeFigure&);

// Messages on a time axis: a row per link, a bar from when a message begins to when it has left, and a line
// until it is there.

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
