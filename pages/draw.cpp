// A recipe: find switches (fabric.h) and boxes, give every node its spot, then draw the lines. Spots: a
// machine with neither is arranged as the graph that it is; switches that are joined among themselves stand
// above the ranks in layers, as a tree, or are laid out by Graphviz; boxes face each other, with what joins
// them in between; one switch stands in the middle of its ranks.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/node_label.h"
#include "ir/words.h"
#include "pages/picture.h"
#include "pages/placed.h"

namespace chorale {
namespace {

using Kind = PictureNode::Kind;

constexpr double kMargin = 0.6;  // round everything
constexpr int kMostRound = 32;   // ranks round a switch: the numbers of more are too small

// The links are the graph. Only here lines wrap: a torus in boxes or under switches has its wraps as long
// lines.
Placed as_graph(const Parts& parts) {
  Placed p = unplaced(parts);
  Arrangement arranged = arrange(graph_among(parts, numbers_below(parts.t.ranks)), *parts.work);
  for (Rank r = 0; r < parts.t.ranks; ++r) p.nodes[r].at = arranged.spots[r];
  p.shape = std::move(arranged.shape);
  p.wraps = std::move(arranged.wraps);
  return p;
}

// A wide switch, half of the ranks above it and half below, each in two rows in a stagger, so that lines pass
// between; in fours, as the trays of a rack have them.
Placed as_banks(const Parts& parts) {
  // In units: between successive ranks, which alternate between two rows; more after four; from the switch to
  // the first row; from the first row to the second.
  constexpr double kApart = 0.62, kTray = 0.35, kFirst = 1.6, kRow = 1.1;
  Placed p = unplaced(parts);
  const int upper = (parts.t.ranks + 1) / 2;
  double width = 0;
  for (Rank r = 0; r < parts.t.ranks; ++r) {
    const int at = r < upper ? r : r - upper;
    const double x = kApart * at + kTray * (at / 4), y = kFirst + kRow * (at % 2);
    p.nodes[r].at = {.x = x, .y = r < upper ? -y : y};
    width = std::max(width, x);
  }
  p.nodes.back().at = {.x = width / 2, .y = 0};
  p.nodes.back().width = width + 1;
  p.nodes.back().height = 0.8;
  return p;
}

// One switch in the middle, large enough that the ranks round it do not touch it.
Placed as_wheel(const Parts& parts) {
  Placed p = unplaced(parts);
  std::vector<Spot> round = circle_of(parts.t.ranks, 1.25);
  const double radius = std::hypot(round[0].x, round[0].y), scale = std::max(1.0, 1.75 / radius);
  for (Rank r = 0; r < parts.t.ranks; ++r) p.nodes[r].at = {.x = round[r].x * scale, .y = round[r].y * scale};
  p.nodes.back().height = 0.8;
  return p;
}

// Graphviz has no room for names but in widths.
Placed spread(const Parts& parts) {
  Placed p = unplaced(parts);
  std::vector<double> widths;
  for (PictureNode& node : p.nodes) {
    if (node.kind == Kind::Switch) node.width = 1.1;
    widths.push_back(node.kind == Kind::Switch ? 1.3 : 1.0);
  }
  const std::vector<Spot> spots =
      spread_out(graph_among(parts, numbers_below(static_cast<int>(p.nodes.size()))), widths, *parts.work);
  for (std::size_t n = 0; n < p.nodes.size(); ++n) p.nodes[n].at = spots[n];
  return p;
}

// Switches that are joined to switches (trunks) decide first: above the ranks they stand in layers, and
// beside each other, as in a dragonfly, anywhere. Then boxes; then the number of switches.
Placed place(const Parts& parts) {
  const int ranks = parts.t.ranks;
  const bool direct =
      std::ranges::any_of(parts.fabric.through, [](const std::vector<Node>& way) { return way.empty(); });
  bool trunks = false, above = false;
  for (int s = ranks; s < ranks + parts.switches(); ++s) {
    above |= *parts.near[s].begin() >= ranks;
    for (int n : parts.near[s]) trunks |= n >= ranks;
  }
  // Two switches with a trunk are layers without an upper one.
  if (trunks && !parts.has_spines)
    return above || (parts.switches() == 2 && !direct) ? place_in_layers(parts) : spread(parts);
  if (std::optional<Placed> boxes = place_in_boxes(parts)) return *std::move(boxes);
  if (parts.switches() == 0) return as_graph(parts);
  const bool one = parts.switches() == 1 && parts.near[ranks].size() == static_cast<std::size_t>(ranks);
  // Links beside the switch would run through it if it stood in the middle.
  if (!one || direct) return spread(parts);
  Placed p = parts.t.ranks > kMostRound ? as_banks(parts) : as_wheel(parts);
  p.shape = counted(parts.t.ranks, "rank") + " on one switch";
  return p;
}

// The corner of the drawing becomes (0, 0), with a margin; lines that leave and wrap count with their ends.
void fit(Picture& picture) {
  double left = 1e300, right = -1e300, top = 1e300, bottom = -1e300;
  const auto hold = [&](double x, double y, double dx, double dy) {
    left = std::min(left, x - dx);
    right = std::max(right, x + dx);
    top = std::min(top, y - dy);
    bottom = std::max(bottom, y + dy);
  };
  for (const PictureNode& n : picture.nodes) hold(n.at.x, n.at.y, n.width / 2, n.height / 2);
  for (const Box& b : picture.boxes)
    hold((b.left + b.right) / 2, (b.top + b.bottom) / 2, (b.right - b.left) / 2, (b.bottom - b.top) / 2);
  for (const Line& w : picture.lines) {
    if (w.wraps) {
      hold(w.start.x + w.out.x, w.start.y + w.out.y, 0.1, 0.1);
      hold(w.end.x - w.out.x, w.end.y - w.out.y, 0.1, 0.1);
    } else {
      const Spot at = on_line(w.start, w.end, w.bend, 0.5);
      hold(at.x, at.y, 0.1, 0.1);
    }
  }
  const double x = kMargin - left, y = kMargin - top;
  const auto move = [&](Spot& s) { s = {.x = s.x + x, .y = s.y + y}; };
  for (PictureNode& n : picture.nodes) move(n.at);
  for (Line& w : picture.lines) {
    move(w.start);
    move(w.end);
  }
  for (Box& b : picture.boxes) {
    b.left += x;
    b.right += x;
    b.top += y;
    b.bottom += y;
  }
  picture.width = right - left + 2 * kMargin;
  picture.height = bottom - top + 2 * kMargin;
}

}  // namespace

Placed unplaced(const Parts& parts) {
  Placed p;
  for (Rank r = 0; r < parts.t.ranks; ++r) {
    const std::string label = label_of(parts.t, r);
    p.nodes.push_back({.name = label.empty() ? std::to_string(r) : label});
  }
  for (const std::string& name : parts.fabric.switches)
    p.nodes.push_back({.kind = Kind::Switch, .name = name, .width = 1.5, .height = 0.56});
  p.box_of.assign(p.nodes.size(), -1);
  p.nic_of.assign(parts.t.ranks, -1);
  return p;
}

std::vector<double> evenly(double left, double right, std::size_t count, double least) {
  const double part = std::max((right - left) / static_cast<double>(count), least);
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back((left + right) / 2 +
                     (static_cast<double>(i) - (static_cast<double>(count) - 1) / 2) * part);
  return result;
}

std::vector<int> numbers_below(int count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Picture picture_of(const Topology& t, DrawingWork& work) {
  const Parts parts = parts_of(t, work);
  Placed placed = place(parts);
  Picture picture{.shape = placed.shape, .nodes = placed.nodes, .boxes = placed.boxes};
  add_lines(parts, placed, picture);
  fit(picture);
  return picture;
}

}  // namespace chorale
