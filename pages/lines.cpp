// Links first become paths over lines, one line for each pair of nodes however many links use it; then lines
// get their ends, as near to the other one as the node's width lets them; last those that would run over a
// node are bent, by the least of a few bends that clears it, else by the one that comes nearest to that.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "pages/placed.h"

namespace chorale {
namespace {

using Kind = PictureNode::Kind;

constexpr double kClear = 0.1;  // between a line and a node that is not its end
// Lines times nodes; with more, the node that a line passes is not visible.
constexpr std::size_t kMostTests = 256'000;

// A line joins nodes a < b, whatever the directions of its links; `there` and `back` keep which of the two
// occur. A NIC is inserted where the route leaves or enters the box of its rank.
void find_ways(const Parts& parts, const Placed& p, Picture& picture) {
  std::map<std::pair<int, int>, int> number;
  std::map<std::pair<int, int>, int> direct;  // bandwidth of direct links, one direction
  picture.routes.resize(parts.t.links.size());
  for (LinkId l = 0; l < static_cast<int>(parts.t.links.size()); ++l) {
    const Link& link = parts.t.links[l];
    std::vector<int> nodes = stops(parts, l);
    const int src_nic = p.nic_of[link.src], dst_nic = p.nic_of[link.dst];
    const bool out = src_nic >= 0 && p.box_of[nodes[1]] != p.box_of[link.src];
    const bool in = dst_nic >= 0 && p.box_of[nodes[nodes.size() - 2]] != p.box_of[link.dst];
    std::vector<int> units;  // of each line on the way
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      const auto shared = parts.fabric.capacity.find({nodes[i - 1], nodes[i]});
      units.push_back(shared != parts.fabric.capacity.end() ? shared->second : link.bandwidth);
    }
    if (in) nodes.insert(nodes.end() - 1, dst_nic), units.push_back(units.back());
    if (out) nodes.insert(nodes.begin() + 1, src_nic), units.insert(units.begin(), units.front());
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      const int a = std::min(nodes[i - 1], nodes[i]), b = std::max(nodes[i - 1], nodes[i]);
      const auto [found, fresh] = number.emplace(std::pair(a, b), static_cast<int>(picture.lines.size()));
      if (fresh) picture.lines.push_back({.a = a, .b = b});
      Line& line = picture.lines[found->second];
      (nodes[i] == b ? line.there : line.back) = true;
      const int sum = nodes.size() == 2 ? direct[{nodes[i - 1], nodes[i]}] += link.bandwidth : units[i - 1];
      line.bandwidth = std::max(line.bandwidth, sum);
      picture.routes[l].push_back(found->second);
    }
  }
  for (const Wrap& wrap : p.wraps)
    if (const auto found = number.find(std::minmax(wrap.a, wrap.b)); found != number.end()) {
      Line& line = picture.lines[found->second];
      line.wraps = true;
      line.out = line.a == wrap.a ? wrap.out : Spot{.x = -wrap.out.x, .y = -wrap.out.y};
    }
}

// Where a line from `to` meets the node: a switch at its upper or lower side, so that lines to another row
// pass none of its own.
Spot meets(const PictureNode& node, const Spot& to) {
  const double reach = std::max(0.0, node.width / 2 - 0.25);
  if (node.kind != Kind::Switch || std::abs(to.y - node.at.y) < node.height / 2) return node.at;
  return {.x = std::clamp(to.x, node.at.x - reach, node.at.x + reach),
          .y = node.at.y + std::copysign(node.height / 2, to.y - node.at.y)};
}

// Where both nodes are wide each end depends on the other: the start is found again from the end.
void find_ends(Picture& picture) {
  for (Line& line : picture.lines) {
    const PictureNode &a = picture.nodes[line.a], &b = picture.nodes[line.b];
    line.start = meets(a, b.at);
    line.end = meets(b, line.start);
    line.start = meets(a, line.end);
  }
}

int samples_on(const Line& line) {
  return std::max(8, static_cast<int>(5 * apart(line.start, line.end)));
}

// The least distance from the line to a node that is not its end, by five samples per unit: to the circle of
// a rank, negative inside of it, and to the rectangle of anything else.
double clearance(const Picture& picture, const Line& line, double bend) {
  const Spot &a = line.start, &b = line.end;
  const int points = samples_on(line);
  double least = 1e300;
  for (std::size_t n = 0; n < picture.nodes.size(); ++n) {
    const PictureNode& node = picture.nodes[n];
    if (static_cast<int>(n) == line.a || static_cast<int>(n) == line.b) continue;
    for (int i = 1; i < points; ++i) {
      const Spot at = on_line(a, b, bend, static_cast<double>(i) / points);
      const double dx = std::max(0.0, std::abs(at.x - node.at.x) - node.width / 2);
      const double dy = std::max(0.0, std::abs(at.y - node.at.y) - node.height / 2);
      least =
          std::min(least, node.kind == Kind::Rank ? apart(at, node.at) - node.width / 2 : std::hypot(dx, dy));
    }
  }
  return least;
}

// A line that would run over a node goes round it, by the least of some bends; outward rather than inward.
void bend_round_nodes(Picture& picture, DrawingWork& work) {
  if (picture.lines.size() * picture.nodes.size() > kMostTests) return;
  Spot middle;
  for (const PictureNode& node : picture.nodes)
    middle = {.x = middle.x + node.at.x / static_cast<double>(picture.nodes.size()),
              .y = middle.y + node.at.y / static_cast<double>(picture.nodes.size())};
  for (Line& line : picture.lines) {
    // Between NICs there is open ground, and they stand so near that lines would only swing about.
    const auto is_nic = [&](int n) { return picture.nodes[n].kind == Kind::Nic; };
    if (line.wraps || is_nic(line.a) || is_nic(line.b)) continue;
    const Spot &a = line.start, &b = line.end;
    const auto examined = static_cast<long long>(picture.nodes.size()) * samples_on(line);
    if (!work.take(examined)) return;
    double best = clearance(picture, line, 0);
    const bool outward = apart(on_line(a, b, 0.1, 0.5), middle) >= apart(on_line(a, b, -0.1, 0.5), middle);
    for (int i = 1; best < kClear && i <= 10 && work.take(2 * examined); ++i)
      for (double side : {outward ? 1.0 : -1.0, outward ? -1.0 : 1.0}) {
        const double bend = side * 0.12 * i * std::max(1.0, apart(a, b) / 2);
        if (const double clear = clearance(picture, line, bend); best < kClear && clear > best) {
          best = clear;
          line.bend = bend;
        }
      }
  }
}
}  // namespace

// A quadratic Bezier curve: the offset 4 bend t (1 - t) is `bend` in the middle and 0 at both ends.
Spot on_line(const Spot& a, const Spot& b, double bend, double along) {
  const double length = std::max(apart(a, b), 1e-9), beside = 4 * bend * along * (1 - along);
  return {.x = a.x + along * (b.x - a.x) + beside * (b.y - a.y) / length,
          .y = a.y + along * (b.y - a.y) - beside * (b.x - a.x) / length};
}

void add_lines(const Parts& parts, const Placed& placed, Picture& picture) {
  find_ways(parts, placed, picture);
  find_ends(picture);
  bend_round_nodes(picture, *parts.work);
}

}  // namespace chorale
