// What a graph is, is read off its factors (factors.h): one is drawn as a row, a circle or a star; two as
// rows and columns, or as copies of the first arranged like the second; three as planes behind each other;
// edges alone as a hypercube.
#include "pages/arrange.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "pages/stress.h"

namespace chorale {
namespace {

using FactorKind = GraphFactor::Kind;

constexpr int kLongestRow = 16;       // a longer line is folded
constexpr int kMostPlaces = 256;      // the stress of more nodes takes seconds
constexpr long long kMinSweeps = 20;  // of stress; after fewer, rows are clearer
constexpr double kAllPairs = 1.35;    // spacing round a circle whose inside is full of links
constexpr double kQuad = 1.9;         // and of the four of a quad

std::string number(long long n) {
  return std::to_string(n);
}

std::string sizes(const std::vector<GraphFactor>& factors) {  // the first factor is the innermost: columns
  std::string text;
  for (auto f = factors.rbegin(); f != factors.rend(); ++f)
    text += (text.empty() ? "" : " x ") + number(f->size);
  return text;
}

// A long line is folded to and fro, so that neighbours stay neighbours at the folds.
std::vector<Spot> row_of(int nodes) {
  const int width = nodes <= kLongestRow ? nodes : static_cast<int>(std::ceil(std::sqrt(2.0 * nodes)));
  std::vector<Spot> spots;
  for (int i = 0; i < nodes; ++i) {
    const int row = i / width, at = i % width;
    spots.push_back({.x = 1.3 * (row % 2 == 0 ? at : width - 1 - at), .y = 1.3 * row});  // to and fro
  }
  return spots;
}

// Nodes of one factor by position. Four that are all joined are a square with room for both diagonals; more
// of them stand on a wider circle than a ring, since the lines between all of them cross inside.
std::vector<Spot> spots_of(FactorKind kind, int size) {
  if (kind == FactorKind::Path) return row_of(size);
  if (kind == FactorKind::Complete && size == 4) return circle_of(4, kQuad);
  return circle_of(size, kind == FactorKind::Complete ? kAllPairs : 1.25);
}

// The whole graph is a path, a cycle or a complete graph: "line of 8", "ring of 8", "all 8 joined".
Arrangement one(const GraphFactor& f) {
  Arrangement picture;
  const std::string n = number(f.size);
  picture.shape = f.kind == FactorKind::Complete ? "all " + n + " joined"
                                                 : (f.kind == FactorKind::Path ? "line of " : "ring of ") + n;
  const std::vector<Spot> spots = spots_of(f.kind, f.size);
  for (int at : f.at) picture.spots.push_back(spots[at]);
  return picture;
}

// Positions 0 and size - 1 of a cycle are joined round the outside. `along` leads from position 0 to the next
// one, so the stub leaves position 0 against it.
void add_wraps(const Graph& g, const GraphFactor& f, const Spot& along, Arrangement& picture) {
  if (f.kind != FactorKind::Cycle) return;
  for (int a = 0; a < static_cast<int>(g.size()); ++a)
    for (int b : g[a])
      if (f.at[a] == 0 && f.at[b] == f.size - 1)
        picture.wraps.push_back({.a = a, .b = b, .out = {.x = -along.x, .y = -along.y}});
}

// "torus 4 x 8" of cycles alone, "grid 4 x 8" of paths alone, "product 4 x 8" where a factor is complete; the
// outermost factor first.
std::string grid_name(const std::vector<GraphFactor>& factors) {
  const auto count = [&](FactorKind kind) {
    return static_cast<std::size_t>(
        std::count_if(factors.begin(), factors.end(), [&](const GraphFactor& f) { return f.kind == kind; }));
  };
  if (count(FactorKind::Cycle) == factors.size()) return "torus " + sizes(factors);
  if (count(FactorKind::Path) == factors.size()) return "grid " + sizes(factors);
  if (count(FactorKind::Complete) > 0) return "product " + sizes(factors);
  return "grid " + sizes(factors) + " that wraps round";
}

// Columns by the first factor, rows by the second, planes behind each other by a third. A plane lies 0.8
// further right and 0.56 higher than the one before it; the step within a plane exceeds the depth of all
// planes, so no node covers another.
Arrangement grid(const Graph& g, const std::vector<GraphFactor>& factors) {
  Arrangement picture{.shape = grid_name(factors)};
  const bool deep = factors.size() > 2;
  const double depth = deep ? 0.8 : 0;
  const double step = deep ? depth * factors[2].size + 0.45 : 1.2;
  for (std::size_t n = 0; n < g.size(); ++n) {
    const double z = deep ? depth * factors[2].at[n] : 0;
    picture.spots.push_back({.x = step * factors[0].at[n] + z, .y = step * factors[1].at[n] - 0.7 * z});
  }
  const double stub = deep ? 0.5 : 0.85;
  add_wraps(g, factors[0], {.x = stub, .y = 0}, picture);
  add_wraps(g, factors[1], {.x = 0, .y = stub}, picture);
  if (deep) add_wraps(g, factors[2], {.x = 0.82 * stub, .y = -0.57 * stub}, picture);
  return picture;
}

// A copy of the first factor at every node of the second; every other copy in a mirror, so that nodes face
// each other.
Arrangement copies(const GraphFactor& inner, const GraphFactor& outer) {
  Arrangement picture{.shape = inner.size == 4 && outer.size == 2
                                   ? "two quads"
                                   : number(outer.size) + " times all " + number(inner.size) + " joined"};
  const std::vector<Spot> in = spots_of(inner.kind, inner.size), out = spots_of(outer.kind, outer.size);
  double width = 0;
  for (const Spot& s : in) width = std::max({width, 2 * std::abs(s.x), 2 * std::abs(s.y)});
  for (std::size_t n = 0; n < inner.at.size(); ++n) {
    const int copy = outer.at[n];
    const Spot& at = in[inner.at[n]];
    const double mirror = outer.kind == FactorKind::Path && copy % 2 == 1 ? -1 : 1;
    const double scale = (width + 1.5) / 1.25;
    picture.spots.push_back({.x = out[copy].x * scale + mirror * at.x, .y = out[copy].y * scale + at.y});
  }
  return picture;
}

// Do all edges join numbers that differ in one bit? A hypercube of more than three dimensions is drawn as one
// only then: with other numbers its dimensions in pairs are squares, and the picture is that of a torus.
bool numbered_by_bits(const Graph& g) {
  for (int a = 0; a < static_cast<int>(g.size()); ++a)
    for (int b : g[a])
      if (((a ^ b) & ((a ^ b) - 1)) != 0) return false;
  return true;
}

// Each dimension shifts a copy of the ones before: right, down, behind, and so on with cubes. The shifts of
// later dimensions grow with each pair of them, so that copies do not overlap.
Arrangement hypercube(const std::vector<GraphFactor>& factors) {
  Arrangement picture{.shape =
                          "hypercube of " + number(static_cast<long long>(factors.size())) + " dimensions"};
  std::vector<Spot> shift = {{2.2, 0}, {0, 2.2}, {1.0, -0.85}};
  for (double far = 4.6; shift.size() < factors.size(); far *= 2.1) {
    shift.push_back({far, 0});
    shift.push_back({0, far});
  }
  picture.spots.resize(factors[0].at.size());
  for (std::size_t n = 0; n < picture.spots.size(); ++n)
    for (std::size_t d = 0; d < factors.size(); ++d)
      if (factors[d].at[n] == 1) {
        picture.spots[n].x += shift[d].x;
        picture.spots[n].y += shift[d].y;
      }
  return picture;
}

// Are the neighbours of each number the same steps away, round a circle of all numbers (a Cayley graph of the
// cyclic group)? With other numbers it is drawn as any graph.
bool is_circulant(const Graph& g) {
  const int nodes = static_cast<int>(g.size());
  const auto steps_from = [&](int a) {
    std::vector<int> steps;
    for (const int b : g[a]) steps.push_back((b - a + nodes) % nodes);
    std::ranges::sort(steps);
    return steps;
  };
  const std::vector<int> steps = steps_from(0);
  for (int a = 1; a < nodes; ++a)
    if (steps_from(a) != steps) return false;
  return steps.size() > 1;
}

// Its numbers round a circle: the lines of each step have one length.
Arrangement circulant(const Graph& g) {
  const int nodes = static_cast<int>(g.size());
  std::string steps;
  for (const int b : g[0])
    if (2 * b <= nodes) steps += (steps.empty() ? "" : ", ") + number(b);
  return {.shape = "circulant of " + number(nodes) + ", steps " + steps,
          .spots = circle_of(nodes, kAllPairs)};
}

// One node that is joined to all others, which have no other link.
Arrangement star(int centre, int nodes) {
  Arrangement picture{.shape = "star of " + number(nodes)};
  const std::vector<Spot> round = circle_of(nodes - 1, 1.25);
  for (int n = 0; n < nodes; ++n)
    picture.spots.push_back(n == centre ? Spot{} : round[n < centre ? n : n - 1]);
  for (Spot& s : picture.spots) s = {.x = s.x * 1.2, .y = s.y * 1.2};
  return picture;
}

// The root in the middle of the longest path; leaves in a row, parents above the middle of their children. A
// longest path of a tree begins at the node farthest from any node and ends at the node farthest from that
// one.
class Tree {
 public:
  explicit Tree(const Graph& g) : g_(g), spots_(g.size()) {
    const auto far_from = [&](int n) {
      const std::vector<int> hops = hops_in(g_, n);
      return static_cast<int>(std::max_element(hops.begin(), hops.end()) - hops.begin());
    };
    const int one_end = far_from(0), other_end = far_from(one_end);
    const std::vector<int> from = hops_in(g_, one_end), to = hops_in(g_, other_end);
    int root = 0;
    for (int n = 0; n < static_cast<int>(g_.size()); ++n)
      if (from[n] + to[n] == from[other_end] && from[n] == from[other_end] / 2) root = n;
    put(root, -1, 0);
  }
  Arrangement picture() const {
    return {.shape = "tree of " + number(static_cast<long long>(g_.size())), .spots = spots_};
  }

 private:
  void put(int n, int parent, int depth) {
    double sum = 0, children = 0;
    for (int next : g_[n])
      if (next != parent) {
        put(next, n, depth + 1);
        sum += spots_[next].x;
        ++children;
      }
    spots_[n] = {.x = children > 0 ? sum / children : 1.15 * leaves_++, .y = 1.7 * depth};
  }
  const Graph& g_;
  std::vector<Spot> spots_;
  int leaves_ = 0;
};

// The only node with several links; -1: there are more of them, or none.
int centre_of_star(const Graph& g) {
  int centre = -1;
  for (std::size_t n = 0; n < g.size(); ++n)
    if (g[n].size() > 1) {
      if (centre >= 0) return -1;
      centre = static_cast<int>(n);
    }
  return centre;
}

bool all_of_kind(const std::vector<GraphFactor>& factors, std::initializer_list<FactorKind> kinds) {
  return std::all_of(factors.begin(), factors.end(), [&](const GraphFactor& f) {
    return std::find(kinds.begin(), kinds.end(), f.kind) != kinds.end();
  });
}

std::vector<Spot> in_rows(int nodes) {
  const int width = static_cast<int>(std::ceil(std::sqrt(nodes)));
  std::vector<Spot> spots;
  for (int n = 0; n < nodes; ++n) spots.push_back({.x = 1.0 * (n % width), .y = 1.0 * (n / width)});
  return spots;
}

// From the strictest shape to none: edges alone, one factor, a grid, copies, a tree, a circulant;
// else by stress.
Arrangement arrange_unscaled(const Graph& g, DrawingWork& work) {
  const int nodes = static_cast<int>(g.size());
  if (nodes == 1) return {.shape = "", .spots = {{}}};
  // Without squares first: joined in pairs, the edges of a hypercube would not be seen as its dimensions.
  std::vector<GraphFactor> factors = factors_of(g, work, false);
  const bool edges = factors.size() > 2 && std::all_of(factors.begin(), factors.end(),
                                                       [](const GraphFactor& f) { return f.size == 2; });
  if (edges && (factors.size() == 3 || numbered_by_bits(g))) return hypercube(factors);
  if (factors.size() > 1) factors = factors_of(g, work);
  if (factors.size() == 1 && factors[0].kind != FactorKind::Other) return one(factors[0]);
  if (factors.size() <= 3 && factors.size() > 1 &&
      all_of_kind(factors, {FactorKind::Path, FactorKind::Cycle}))
    return grid(g, factors);
  if (factors.size() == 2 &&
      all_of_kind(factors, {FactorKind::Path, FactorKind::Cycle, FactorKind::Complete})) {
    // The complete factor is copied at every node of the other one; two complete factors are rows and
    // columns.
    const int quads = factors[0].kind == FactorKind::Complete ? 0 : 1;
    const bool both = factors[1 - quads].kind == FactorKind::Complete;
    return both ? grid(g, factors) : copies(factors[quads], factors[1 - quads]);
  }
  const std::vector<int> hops = hops_in(g, 0);
  std::size_t ends = 0;
  for (const std::vector<int>& next : g) ends += next.size();
  // Connected, with n - 1 edges: a tree.
  if (std::find(hops.begin(), hops.end(), -1) == hops.end() && ends == 2 * (g.size() - 1)) {
    const int centre = centre_of_star(g);
    return centre >= 0 ? star(centre, nodes) : Tree(g).picture();
  }
  if (is_circulant(g)) return circulant(g);
  return {.shape = "", .spots = spread_out(g, work)};
}

}  // namespace

std::vector<Spot> spread_out(const Graph& g, DrawingWork& work) {
  const int nodes = static_cast<int>(g.size());
  if (nodes > kMostPlaces || work.left() < kMinSweeps * nodes * nodes) return in_rows(nodes);
  std::vector<Spot> spots = circle_of(nodes, 1.3);
  lessen_stress(spots, g, work);
  push_apart(spots, 1.15, work);
  scale_to_unit(spots);
  return spots;
}

Arrangement arrange(const Graph& g, DrawingWork& work) {
  Arrangement picture = arrange_unscaled(g, work);
  scale_to_unit(picture.spots);
  return picture;
}

}  // namespace chorale
