// Templates are tried from the strictest to the loosest. All go by numbers: a machine that is numbered
// otherwise is laid out by its links alone, and has no name.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <optional>
#include <sstream>

#include "pages/placed.h"

namespace chorale {

// Positions are in units: the width of a rank's circle with some air is one.
double apart(const Spot& a, const Spot& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

// Neighbours on the circle are `spacing` apart: the chord of 2 pi / n is 2 r sin(pi / n).
std::vector<Spot> circle_of(int nodes, double spacing) {
  const double pi = std::numbers::pi;
  const double radius = nodes < 2 ? 0 : spacing / 2 / std::sin(pi / nodes);
  std::vector<Spot> spots;
  const double first = nodes == 4 ? -pi / 4 : nodes == 2 ? -pi / 2 : 0;  // a square, and two side by side
  for (int i = 0; i < nodes; ++i) {
    const double angle = first + 2 * pi * i / nodes;
    spots.push_back({.x = radius * std::sin(angle), .y = -radius * std::cos(angle)});
  }
  return spots;
}

// The closest two become one unit apart; pictures that are wider than that stay.
void scale_to_unit(std::vector<Spot>& spots) {
  double least = 1e300;
  for (std::size_t a = 0; a < spots.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) least = std::min(least, apart(spots[a], spots[b]));
  if (least >= 1 || least <= 0) return;
  for (Spot& s : spots) s = {.x = s.x / least * 1.0001, .y = s.y / least * 1.0001};
}

// The program is called and not its library: pages need no more to be built, a fault in it leaves a circle,
// and the library loads Pango, Cairo and X11. A call takes some 30 ms and half a second at most. The graph is
// in the command, as a here-document of numbers.

namespace {

constexpr std::size_t kMaxNodesLaidOut = 256, kMaxEdgesLaidOut = 8'000;
constexpr long long kWorkPerPair = 500;  // 0.4 s for 256 nodes
constexpr double kHeightLaidOut = 1.0;

// In inches, which are units here. Stress majorization, then overlaps are removed (prism).
std::string as_dot(const Graph& g, const std::vector<double>& widths) {
  std::ostringstream text;
  text << "graph {\nlayout=neato; overlap=prism; sep=0;\n"
       << "node [shape=box, fixedsize=true, label=\"\", height=" << kHeightLaidOut << "]; edge [len=1.6];\n";
  for (std::size_t n = 0; n < g.size(); ++n) text << n << " [width=" << widths[n] << "];\n";
  for (std::size_t a = 0; a < g.size(); ++a)
    for (const int b : g[a])
      if (static_cast<int>(a) < b) text << a << " -- " << b << ";\n";
  text << "}\n";
  return text.str();
}

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
  pclose(pipe);
  return text;
}

// Of lines "node 3 1.5 0.25 ...": its number, x, and y upwards. Nothing unless each node has one.
std::optional<std::vector<Spot>> spots_in(const std::string& plain, std::size_t nodes) {
  std::vector<Spot> spots(nodes);
  std::istringstream lines(plain);
  std::size_t count = 0, number = 0;
  Spot at;
  for (std::string line, word; std::getline(lines, line);)
    if (std::istringstream words(line); words >> word && word == "node") {
      if (!(words >> number >> at.x >> at.y) || number >= nodes) return std::nullopt;
      spots[number] = {.x = at.x, .y = -at.y};
      ++count;
    }
  return count == nodes ? std::optional(std::move(spots)) : std::nullopt;
}

}  // namespace

std::vector<Spot> spread_out(const Graph& g, const std::vector<double>& widths, DrawingWork& work) {
  std::size_t ends = 0;
  for (const std::vector<int>& next : g) ends += next.size();
  const auto pairs = static_cast<long long>(g.size() * g.size());
  if (ends > 0 && ends / 2 <= kMaxEdgesLaidOut && g.size() <= kMaxNodesLaidOut &&
      work.take(kWorkPerPair * pairs))
    if (auto spots = spots_in(output_of("neato -Tplain 2>/dev/null <<'END'\n" + as_dot(g, widths) + "END\n"),
                              g.size()))
      return *std::move(spots);
  return circle_of(static_cast<int>(g.size()), 0.35 + *std::ranges::max_element(widths));
}

namespace {

constexpr int kLongestRow = 16;     // a longer line is folded
constexpr double kAllPairs = 1.35;  // spacing round a circle whose inside is full of links
constexpr double kQuad = 1.9;       // and of the four of a quad

bool joined(const Graph& g, int a, int b) {
  return std::ranges::binary_search(g[a], b);
}

// The steps round a circle of all numbers that lead to the neighbours, where they are the same from each (a
// Cayley graph of the cyclic group); else none.
std::vector<int> circulant_steps(const Graph& g) {
  const int nodes = static_cast<int>(g.size());
  const auto steps_from = [&](int a) {
    std::vector<int> steps;
    for (const int b : g[a]) steps.push_back((b - a + nodes) % nodes);
    std::ranges::sort(steps);
    return steps;
  };
  const std::vector<int> steps = steps_from(0);
  for (int a = 1; a < nodes; ++a)
    if (steps_from(a) != steps) return {};
  return steps;
}

// The lines of each step have one length.
Arrangement circle(int nodes, const std::vector<int>& steps) {
  const std::string n = std::to_string(nodes);
  if (std::ssize(steps) == nodes - 1 && nodes > 3)
    return {.shape = "all " + n + " joined", .spots = circle_of(nodes, nodes == 4 ? kQuad : kAllPairs)};
  if (steps.size() == 2 && steps[0] + steps[1] == nodes && std::gcd(steps[0], nodes) == 1) {
    Arrangement picture{.shape = "ring of " + n, .spots = std::vector<Spot>(nodes)};
    int at = 0;
    for (const Spot& spot : circle_of(nodes, 1.25)) {
      picture.spots[at] = spot;
      at = (at + steps[0]) % nodes;
    }
    return picture;
  }
  std::string text;
  for (const int step : steps)
    if (2 * step <= nodes) text += (text.empty() ? "" : ", ") + std::to_string(step);
  return {.shape = "circulant of " + n + ", steps " + text, .spots = circle_of(nodes, kAllPairs)};
}

// Numbers in row-major order, the last side innermost. A side of two does not wrap.
struct Grid {
  std::vector<int> sides = {};
  std::vector<bool> wraps = {};

  std::vector<int> at(int node) const {
    std::vector<int> position(sides.size());
    for (std::size_t d = sides.size(); d-- > 0; node /= sides[d]) position[d] = node % sides[d];
    return position;
  }
  std::vector<int> neighbours(int node) const {
    const std::vector<int> position = at(node);
    std::vector<int> near;
    for (int d = static_cast<int>(sides.size()) - 1, stride = 1; d >= 0; stride *= sides[d--])
      for (const int step : {-1, 1}) {
        const int next = position[d] + step, wrapped = (next + sides[d]) % sides[d];
        if (next == wrapped || wraps[d]) near.push_back(node + (wrapped - position[d]) * stride);
      }
    std::ranges::sort(near);
    return near;
  }
};

// The graph as a grid with these sides; sides of one are left out.
std::optional<Grid> as_grid(const Graph& g, const std::vector<int>& sides) {
  Grid grid;
  int stride = static_cast<int>(g.size());
  for (const int side : sides) {
    if (side == 1) continue;
    stride /= side;
    grid.sides.push_back(side);
    grid.wraps.push_back(side > 2 && joined(g, 0, (side - 1) * stride));
  }
  for (int n = 0; n < static_cast<int>(g.size()); ++n)
    if (grid.neighbours(n) != g[n]) return std::nullopt;
  return grid;
}

// Of up to three sides, the fewest first; or a hypercube.
std::optional<Grid> grid_of(const Graph& g) {
  const int nodes = static_cast<int>(g.size());
  for (int a = 1; a <= nodes; ++a)
    for (int b = 1; nodes % a == 0 && b <= nodes / a; ++b)
      if (nodes / a % b == 0)
        if (std::optional<Grid> grid = as_grid(g, {a, b, nodes / a / b})) return grid;
  std::vector<int> edges;
  while (nodes >> edges.size() > 1) edges.push_back(2);
  return 1 << edges.size() == nodes ? as_grid(g, edges) : std::nullopt;
}

std::string grid_name(const Grid& grid) {
  const auto all_wrap = [&](bool wraps) {
    return std::ranges::all_of(grid.wraps, [&](bool each) { return each == wraps; });
  };
  const bool edges = std::ranges::all_of(grid.sides, [](int side) { return side == 2; });
  if (edges && grid.sides.size() > 2)
    return "hypercube of " + std::to_string(grid.sides.size()) + " dimensions";
  std::string sizes;
  for (const int side : grid.sides) sizes += (sizes.empty() ? "" : " x ") + std::to_string(side);
  if (grid.sides.size() == 1) return "line of " + sizes;
  return (all_wrap(true) ? "torus " : "grid ") + sizes +
         (all_wrap(true) || all_wrap(false) ? "" : " that wraps around");
}

// To the right along the last side, down along the one before; along a third to the right and up by less than
// one step, so that no node covers another. Further sides, of hypercubes, shift copies of all before.
std::vector<Spot> directions(const Grid& grid) {
  const std::size_t sides = grid.sides.size();
  const bool edges = sides > 2 && std::ranges::all_of(grid.sides, [](int side) { return side == 2; });
  const double step = edges ? 2.2 : sides > 2 ? 0.8 * grid.sides[0] + 0.45 : 1.2;
  std::vector<Spot> along = {{step, 0}, {0, step}, edges ? Spot{1.0, -0.85} : Spot{0.8, -0.56}};
  for (double far = 4.6; along.size() < sides; far *= 2.1) {
    along.push_back({far, 0});
    along.push_back({0, far});
  }
  along.resize(sides);
  std::ranges::reverse(along);
  return along;
}

// Neighbours stay neighbours at the folds.
std::vector<Spot> folded_line(int nodes) {
  const int width = nodes <= kLongestRow ? nodes : static_cast<int>(std::ceil(std::sqrt(2.0 * nodes)));
  std::vector<Spot> spots;
  for (int i = 0; i < nodes; ++i) {
    const int row = i / width, at = i % width;
    spots.push_back({.x = 1.3 * (row % 2 == 0 ? at : width - 1 - at), .y = 1.3 * row});
  }
  return spots;
}

Arrangement grid(const Graph& g, const Grid& grid) {
  const int nodes = static_cast<int>(g.size());
  if (grid.sides.size() == 1) return {.shape = grid_name(grid), .spots = folded_line(nodes)};
  Arrangement picture{.shape = grid_name(grid)};
  const std::vector<Spot> along = directions(grid);
  for (int n = 0; n < nodes; ++n) {
    const std::vector<int> at = grid.at(n);
    Spot spot;
    for (std::size_t d = 0; d < at.size(); ++d)
      spot = {.x = spot.x + at[d] * along[d].x, .y = spot.y + at[d] * along[d].y};
    picture.spots.push_back(spot);
    for (int d = static_cast<int>(at.size()) - 1, stride = 1; d >= 0; stride *= grid.sides[d--])
      if (grid.wraps[d] && at[d] == 0) {
        const double stub = (at.size() > 2 ? 0.5 : 0.85) / std::max(1.0, std::hypot(along[d].x, along[d].y));
        picture.wraps.push_back({.a = n,
                                 .b = n + (grid.sides[d] - 1) * stride,
                                 .out = {.x = -stub * along[d].x, .y = -stub * along[d].y}});
      }
  }
  return picture;
}

// Two halves whose nodes are all joined, and each with one of the other half, as the quads of a DGX-1:
// partners stand mirrored.
std::optional<Arrangement> two_halves(const Graph& g) {
  const int nodes = static_cast<int>(g.size()), half = nodes / 2;
  if (nodes % 2 != 0 || half < 3) return std::nullopt;
  std::vector<int> partner(nodes);
  for (int a = 0; a < nodes; ++a) {
    if (std::ssize(g[a]) != half) return std::nullopt;
    int across = 0;
    for (const int b : g[a])
      if ((a < half) != (b < half)) ++across, partner[a] = b;
    if (across != 1) return std::nullopt;
  }
  Arrangement picture{.shape = half == 4 ? "two quads" : "2 times all " + std::to_string(half) + " joined",
                      .spots = circle_of(half, half == 4 ? kQuad : kAllPairs)};
  const double away = 2 * std::abs(std::ranges::min(picture.spots, {}, &Spot::x).x) + 1.5;
  picture.spots.resize(nodes);
  for (int a = 0; a < half; ++a)
    picture.spots[partner[a]] = {.x = away - picture.spots[a].x, .y = picture.spots[a].y};
  return picture;
}

// The order of rows of so many nodes, in which each is joined straight down with the next one, and with no
// other row, as those of an MI250 node: 0, 1, 3, 2. None where there is no such order.
std::vector<int> order_of_rows(const Graph& g, int width) {
  const int rows = static_cast<int>(g.size()) / width;
  std::vector<std::vector<int>> below(rows);
  for (int a = 0; a < static_cast<int>(g.size()); ++a)
    for (const int b : g[a])
      if (const int row = a / width, other = b / width;
          row != other && !std::ranges::count(below[row], other)) {
        for (int n = 0; n < width; ++n)
          if (!joined(g, row * width + n, other * width + n)) return {};
        below[row].push_back(other);
      }
  std::vector<int> order;
  for (int row = 0; row < rows && order.empty(); ++row)
    if (below[row].size() == 1) order = {row};
  while (!order.empty() && std::ssize(order) < rows) {
    const auto next = std::ranges::find_if(below[order.back()],
                                           [&](int row) { return std::ranges::count(order, row) == 0; });
    if (next == below[order.back()].end() || below[order.back()].size() > 2) return {};
    order.push_back(*next);
  }
  return order.empty() || below[order.back()].size() != 1 ? std::vector<int>() : order;
}

std::optional<Arrangement> rows(const Graph& g) {
  const int nodes = static_cast<int>(g.size());
  for (int width = kLongestRow; width > 2; --width) {
    if (nodes % width != 0 || nodes / width < 3) continue;
    const std::vector<int> order = order_of_rows(g, width);
    if (order.empty()) continue;
    Arrangement picture{.shape = std::to_string(order.size()) + " rows of " + std::to_string(width)};
    picture.spots.resize(nodes);
    for (std::size_t row = 0; row < order.size(); ++row)
      for (int n = 0; n < width; ++n)
        picture.spots[order[row] * width + n] = {.x = 1.5 * n, .y = 1.5 * static_cast<double>(row)};
    return picture;
  }
  return std::nullopt;
}

Arrangement arrange_unscaled(const Graph& g, DrawingWork& work) {
  const int nodes = static_cast<int>(g.size());
  if (nodes == 1) return {.shape = "", .spots = {{}}};
  if (const std::vector<int> steps = circulant_steps(g); steps.size() > 1) return circle(nodes, steps);
  if (const std::optional<Grid> found = grid_of(g)) return grid(g, *found);
  if (std::optional<Arrangement> halves = two_halves(g)) return *std::move(halves);
  if (std::optional<Arrangement> straight = rows(g)) return *std::move(straight);
  return {.shape = "", .spots = spread_out(g, std::vector<double>(nodes, 1.0), work)};
}

}  // namespace

Arrangement arrange(const Graph& g, DrawingWork& work) {
  Arrangement picture = arrange_unscaled(g, work);
  scale_to_unit(picture.spots);
  return picture;
}

}  // namespace chorale
