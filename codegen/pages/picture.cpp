// A recipe: find switches (fabric.h) and boxes, give every node its spot, then draw the wires. Spots: a machine with neither
// is arranged as the graph that it is; switches that are joined among themselves stand above the ranks in layers, as a tree;
// boxes face each other, with what joins them in between; one switch stands in the middle of its ranks.
#include "codegen/pages/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "codegen/pages/fabric.h"

namespace chorale {
namespace {

using Kind = PictureNode::Kind;
using Groups = std::vector<std::vector<Rank>>;

constexpr double kMargin = 0.6;          // round everything
constexpr double kNicsApart = 0.42;      // a NIC is 0.34 wide
constexpr double kWidestBand = 18;       // of boxes: with more of it ranks go in further rows
constexpr double kWidestTree = 22;       // 16 ranks in four groups
constexpr double kClear = 0.1;           // between a wire and a node that is not its end
constexpr std::size_t kMostBent = 4000;  // wires; with more of them nobody sees which node one passes

struct Parts {
  const Topology& t;
  Fabric fabric;
  Groups boxes;                     // none, or all ranks, each once
  std::vector<std::set<int>> near;  // by rank and switch: what a link leads to without another between
  int switches() const { return static_cast<int>(fabric.switches.size()); }
};

std::vector<int> stops(const Topology& t, const Fabric& fabric, LinkId l) {
  std::vector<int> nodes = {t.links[l].src};
  nodes.insert(nodes.end(), fabric.through[l].begin(), fabric.through[l].end());
  nodes.push_back(t.links[l].dst);
  return nodes;
}

Groups components(int nodes, const std::vector<std::pair<int, int>>& joined) {
  Graph g(nodes);
  for (const auto& [a, b] : joined) {
    g[a].push_back(b);
    g[b].push_back(a);
  }
  Groups groups;
  std::vector<bool> seen(nodes, false);
  for (int n = 0; n < nodes; ++n) {
    if (seen[n]) continue;
    const std::vector<int> hops = hops_in(g, n);
    groups.emplace_back();
    for (int m = 0; m < nodes; ++m)
      if (hops[m] >= 0) {
        seen[m] = true;
        groups.back().push_back(m);
      }
  }
  return groups;
}

bool are_boxes(const Groups& groups) {
  return groups.size() > 1 &&
         std::all_of(groups.begin(), groups.end(), [](const auto& group) { return group.size() > 1; });
}

// Servers: what is joined by links with less alpha than the most; or what is on one of several equal switches, if every
// rank is on one of these: of such ways to part the ranks, by the switches with the most bandwidth.
Groups boxes_of(const Topology& t, const Fabric& fabric) {
  const double most = step_alpha_us(t);
  std::vector<std::pair<int, int>> near;
  for (const Link& l : t.links)
    if (l.alpha_us < most) near.emplace_back(l.src, l.dst);
  Groups groups = components(t.ranks, near);
  if (are_boxes(groups)) return groups;

  std::vector<std::set<Rank>> on(fabric.switches.size());
  std::vector<int> bandwidth(fabric.switches.size(), 0);
  for (std::size_t l = 0; l < t.links.size(); ++l)
    for (Node s : fabric.through[l]) {
      on[s - t.ranks].insert({t.links[l].src, t.links[l].dst});
      bandwidth[s - t.ranks] = std::max(bandwidth[s - t.ranks], t.links[l].bandwidth);
    }
  std::map<std::pair<int, std::size_t>, Groups> equal;  // by bandwidth, then size
  for (std::size_t s = 0; s < on.size(); ++s)
    equal[{bandwidth[s], on[s].size()}].emplace_back(on[s].begin(), on[s].end());
  for (auto e = equal.rbegin(); e != equal.rend(); ++e) {
    std::size_t sum = 0;
    std::set<Rank> covered;
    for (const std::vector<Rank>& group : e->second) {
      sum += group.size();
      covered.insert(group.begin(), group.end());
    }
    if (are_boxes(e->second) && sum == covered.size() && covered.size() == static_cast<std::size_t>(t.ranks))
      return e->second;
  }
  return {};
}

Parts parts_of(const Topology& t) {
  Parts parts{.t = t, .fabric = fabric_of(t), .boxes = {}, .near = {}};
  parts.boxes = boxes_of(t, parts.fabric);
  parts.near.resize(t.ranks + parts.switches());
  for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l) {
    const std::vector<int> nodes = stops(t, parts.fabric, l);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      parts.near[nodes[i - 1]].insert(nodes[i]);
      parts.near[nodes[i]].insert(nodes[i - 1]);
    }
  }
  return parts;
}

// The nodes as a graph of their own, numbered in their order.
Graph graph_among(const Parts& parts, const std::vector<int>& nodes) {
  std::map<int, int> number;
  for (int n : nodes) number.emplace(n, static_cast<int>(number.size()));
  Graph g(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (int next : parts.near[nodes[i]])
      if (const auto found = number.find(next); found != number.end()) g[i].push_back(found->second);
  for (std::vector<int>& next : g) std::sort(next.begin(), next.end());
  return g;
}

std::vector<int> first_numbers(int count, int first = 0) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::string counted(std::size_t n, const std::string& word, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? word : many);
}

// -- spots -----------------------------------------------------------------------------------------------------------

// Everything that is drawn but the wires.
struct Placed {
  std::string shape = {};
  std::vector<PictureNode> nodes = {};
  std::vector<Wrap> wraps = {};
  std::vector<Box> boxes = {};
  std::vector<int> box_of = {};  // by node; -1: in none
  std::vector<int> nic_of = {};  // by rank; -1: none
};

Placed unplaced(const Parts& parts) {
  Placed p;
  for (Rank r = 0; r < parts.t.ranks; ++r) p.nodes.push_back({.name = std::to_string(r)});
  for (const std::string& name : parts.fabric.switches)
    p.nodes.push_back({.kind = Kind::Switch, .name = name, .width = 1.5, .height = 0.56});
  p.box_of.assign(p.nodes.size(), -1);
  p.nic_of.assign(parts.t.ranks, -1);
  return p;
}

Placed as_graph(const Parts& parts) {
  Placed p = unplaced(parts);
  Arrangement arranged = arrange(graph_among(parts, first_numbers(parts.t.ranks)));
  for (Rank r = 0; r < parts.t.ranks; ++r) p.nodes[r].at = arranged.spots[r];
  p.shape = std::move(arranged.shape);
  p.wraps = std::move(arranged.wraps);
  return p;
}

Placed as_wheel(const Parts& parts) {
  Placed p = unplaced(parts);
  std::vector<Spot> round = circle_of(parts.t.ranks, 1.25);
  const double radius = std::hypot(round[0].x, round[0].y), scale = std::max(1.0, 1.75 / radius);
  for (Rank r = 0; r < parts.t.ranks; ++r) p.nodes[r].at = {.x = round[r].x * scale, .y = round[r].y * scale};
  p.nodes.back().height = 0.8;
  p.shape = counted(parts.t.ranks, "rank", "ranks") + " on one switch";
  return p;
}

Placed spread(const Parts& parts) {
  Placed p = unplaced(parts);
  std::vector<Spot> spots = spread_out(graph_among(parts, first_numbers(static_cast<int>(p.nodes.size()))));
  for (std::size_t n = 0; n < p.nodes.size(); ++n) {
    p.nodes[n].at = {.x = spots[n].x * 1.4, .y = spots[n].y * 1.4};  // switches are wide
    if (p.nodes[n].kind == Kind::Switch) p.nodes[n].width = 1.0;
  }
  return p;
}

// `count` spots over [left, right], each in the middle of its part; no nearer than `least`, about the same middle.
std::vector<double> evenly(double left, double right, std::size_t count, double least) {
  const double part = std::max((right - left) / static_cast<double>(count), least);
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back((left + right) / 2 +
                     (static_cast<double>(i) - (static_cast<double>(count) - 1) / 2) * part);
  return result;
}

// Switches above the ranks, each as many layers up as it has hops to the nearest rank. Those over the same ranks share the
// width of these.
class Layers {
 public:
  explicit Layers(const Parts& parts) : parts_(parts), nodes_(static_cast<int>(parts.near.size())) {
    find_levels();
    find_ranks_below();
  }

  Placed place() {
    Placed p = unplaced(parts_);
    const double floor = place_ranks(p);
    int top = 0;
    for (int n = parts_.t.ranks; n < nodes_; ++n) top = std::max(top, level_[n]);
    for (int level = 1; level <= top; ++level) place_level(p, level, floor - 1.9 * level);
    p.shape = "switches in " + counted(top, "layer", "layers");
    return p;
  }

 private:
  void find_levels() {
    level_.assign(nodes_, 0);
    std::vector<int> queue = first_numbers(parts_.t.ranks);
    for (int n = parts_.t.ranks; n < nodes_; ++n) level_[n] = -1;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (int next : parts_.near[queue[i]])
        if (level_[next] < 0) {
          level_[next] = level_[queue[i]] + 1;
          queue.push_back(next);
        }
  }

  void find_ranks_below() {
    below_.resize(nodes_);
    std::vector<int> upwards = first_numbers(nodes_);
    std::stable_sort(upwards.begin(), upwards.end(), [&](int a, int b) { return level_[a] < level_[b]; });
    for (int n : upwards) {
      if (level_[n] == 0) below_[n] = {n};
      for (int next : parts_.near[n])
        if (level_[next] < level_[n]) below_[n].insert(below_[next].begin(), below_[next].end());
    }
  }

  // Ranks under the same switches stand together, in rows where there are many: the height that they end at.
  double place_ranks(Placed& p) const {
    std::map<std::vector<int>, std::vector<Rank>>
        groups;  // by the first ranks of the sets that they are in, largest first
    for (Rank r = 0; r < parts_.t.ranks; ++r) {
      std::set<std::pair<int, int>> sets;
      for (int n = parts_.t.ranks; n < nodes_; ++n)
        if (below_[n].contains(r)) sets.insert({-static_cast<int>(below_[n].size()), *below_[n].begin()});
      std::vector<int> key;
      for (const auto& [size, first] : sets) key.push_back(first);
      groups[key].push_back(r);
    }
    int rows = 0;
    for (double width = 1e9; width > kWidestTree && rows < 4;) {
      ++rows;
      width = 0;
      for (const auto& [key, ranks] : groups) width += columns(ranks.size(), rows) * 1.1 + 0.7;
    }
    double left = 0;
    for (const auto& [key, ranks] : groups) {
      const int across = columns(ranks.size(), rows);
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const int row = static_cast<int>(i) / across, at = static_cast<int>(i) % across;
        p.nodes[ranks[i]].at = {.x = left + 1.1 * at + (row % 2 == 1 ? 0.55 : 0.0), .y = 1.1 * row};
      }
      left += across * 1.1 + 0.7;
    }
    return 0;
  }
  static int columns(std::size_t ranks, int rows) { return (static_cast<int>(ranks) + rows - 1) / rows; }

  void place_level(Placed& p, int level, double y) const {
    std::map<std::vector<int>, std::vector<int>> equal;  // by the ranks below
    for (int n = parts_.t.ranks; n < nodes_; ++n)
      if (level_[n] == level) equal[{below_[n].begin(), below_[n].end()}].push_back(n);
    std::vector<int> placed;
    for (const auto& [ranks, switches] : equal) {
      double left = 1e300, right = -1e300;
      for (Rank r : ranks) {
        left = std::min(left, p.nodes[r].at.x);
        right = std::max(right, p.nodes[r].at.x);
      }
      const std::vector<double> x = evenly(left - 0.5, right + 0.5, switches.size(), 1.25);
      for (std::size_t i = 0; i < switches.size(); ++i) {
        p.nodes[switches[i]].at = {.x = x[i], .y = y};
        p.nodes[switches[i]].width = 1.1;
        placed.push_back(switches[i]);
      }
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [&](int a, int b) { return p.nodes[a].at.x < p.nodes[b].at.x; });
    for (std::size_t i = 1; i < placed.size(); ++i)  // to the right, where two groups come too near
      p.nodes[placed[i]].at.x = std::max(p.nodes[placed[i]].at.x, p.nodes[placed[i - 1]].at.x + 1.25);
  }

  const Parts& parts_;
  int nodes_;
  std::vector<int> level_ = {};
  std::vector<std::set<Rank>> below_ = {};
};

// One box: its ranks and its own switches, about (0, 0). `down`: ranks below the switches.
class BoxInside {
 public:
  BoxInside(const Parts& parts, const std::vector<Rank>& ranks, const std::vector<int>& switches, int rows)
      : ranks_(ranks), switches_(switches) {
    const Graph g = graph_among(parts, ranks);
    const bool direct = std::any_of(g.begin(), g.end(), [](const auto& next) { return !next.empty(); });
    const int across = (static_cast<int>(ranks.size()) + rows - 1) / rows;
    if (direct) {
      spots_ = arrange(g).spots;
    } else {
      for (int i = 0; i < static_cast<int>(ranks.size());
           ++i)  // rows in a stagger, so that wires pass between
        spots_.push_back(
            {.x = 1.1 * (i % across) + (i / across % 2 == 1 ? 0.55 : 0.0), .y = 1.1 * (i / across)});
    }
    bounds();
    const double mean = (left_ + right_) / 2, middle = (top_ + bottom_) / 2;
    for (Spot& s : spots_) s = {.x = s.x - mean, .y = s.y - middle};
    bounds();
    const double ceiling = top_ - 1.35;
    const std::vector<double> x = evenly(left_, right_, switches.size(), 1.8);
    for (std::size_t i = 0; i < switches.size(); ++i) spots_.push_back({.x = x[i], .y = ceiling});
    bounds();
  }
  double width() const { return right_ - left_ + 1.3; }
  double height() const { return bottom_ - top_ + 1.4; }

  // Its middle at (x, y), upside down or not.
  void put(Placed& p, int box, double x, double y, bool upside_down) const {
    const double middle = (top_ + bottom_) / 2;
    for (std::size_t i = 0; i < spots_.size(); ++i) {
      const int n = i < ranks_.size() ? ranks_[i] : switches_[i - ranks_.size()];
      const double dy = spots_[i].y - middle;
      p.nodes[n].at = {.x = x + spots_[i].x, .y = y + (upside_down ? -dy : dy)};
      p.box_of[n] = box;
      if (i >= ranks_.size())
        p.nodes[n].width = std::max(1.5, (right_ - left_ + 0.6) / static_cast<double>(switches_.size()) - 0.1);
    }
    p.boxes.push_back({.name = "",
                       .left = x - width() / 2,
                       .top = y - height() / 2,
                       .right = x + width() / 2,
                       .bottom = y + height() / 2,
                       .name_below = upside_down});
  }

 private:
  void bounds() {
    left_ = top_ = 1e300;
    right_ = bottom_ = -1e300;
    for (const Spot& s : spots_) {
      left_ = std::min(left_, s.x);
      right_ = std::max(right_, s.x);
      top_ = std::min(top_, s.y);
      bottom_ = std::max(bottom_, s.y);
    }
    if (switches_.size() == 1 && right_ - left_ < 1.5) right_ = 0.75, left_ = -0.75;
  }
  const std::vector<Rank>& ranks_;
  const std::vector<int>& switches_;
  std::vector<Spot> spots_ = {};
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
};

class Boxes {
 public:
  explicit Boxes(const Parts& parts) : parts_(parts), own_(parts.boxes.size()), box_of_rank_(parts.t.ranks) {
    for (std::size_t b = 0; b < parts.boxes.size(); ++b)
      for (Rank r : parts.boxes[b]) box_of_rank_[r] = static_cast<int>(b);
    for (int s = parts.t.ranks; s < static_cast<int>(parts.near.size()); ++s) {
      std::set<int> touched;
      for (int n : parts.near[s]) touched.insert(box_of_rank_[n]);
      if (touched.size() == 1)
        own_[*touched.begin()].push_back(s);
      else
        between_.push_back(s);
    }
  }

  Placed place() {
    Placed p = unplaced(parts_);
    if (between_.empty() && parts_.boxes.size() > 2)
      place_like_graph(p);
    else
      place_facing(p);
    for (std::size_t b = 0; b < p.boxes.size(); ++b) p.boxes[b].name = "node " + std::to_string(b);
    const auto [least, most] =
        std::minmax_element(parts_.boxes.begin(), parts_.boxes.end(),
                            [](const auto& a, const auto& b) { return a.size() < b.size(); });
    p.shape = counted(parts_.boxes.size(), "node", "nodes") + " of " + std::to_string(least->size()) +
              (least->size() < most->size() ? " to " + std::to_string(most->size()) : "");
    if (!between_.empty()) p.shape += ", " + counted(between_.size(), "switch", "switches") + " between them";
    return p;
  }

 private:
  std::vector<BoxInside> insides(int rows) const {
    std::vector<BoxInside> result;
    for (std::size_t b = 0; b < parts_.boxes.size(); ++b)
      result.emplace_back(parts_, parts_.boxes[b], own_[b], rows);
    return result;
  }

  // Half of the boxes above, half of them upside down below, what joins them in the middle.
  void place_facing(Placed& p) {
    const int count = static_cast<int>(parts_.boxes.size()), upper = (count + 1) / 2;
    std::vector<BoxInside> inside;
    std::array<double, 2> width = {};
    for (int rows = 1; rows <= 2; ++rows) {  // wires pass between two rows, and not three
      inside = insides(rows);
      width = {};
      for (int b = 0; b < count; ++b) width[b / upper] += inside[b].width() + 0.8;
      if (std::max(width[0], width[1]) <= kWidestBand) break;
    }
    double tall = 0;
    for (const BoxInside& box : inside) tall = std::max(tall, box.height());
    const double gap = between_.empty() ? 1.6 : 4.2;
    std::array<double, 2> left = {-width[0] / 2, -width[1] / 2};
    for (int b = 0; b < count; ++b) {
      const bool above = b < upper;
      const double y = (gap + inside[b].height()) / 2;
      double& at = left[above ? 0 : 1];
      inside[b].put(p, b, at + (inside[b].width() + 0.8) / 2, above ? -y : y, !above);
      at += inside[b].width() + 0.8;
    }
    std::vector<std::pair<double, int>> by_mean;
    for (int s : between_) {
      double sum = 0;
      for (int n : parts_.near[s]) sum += p.nodes[n].at.x;
      by_mean.emplace_back(std::round(100 * sum / static_cast<double>(parts_.near[s].size())), s);
    }
    std::sort(by_mean.begin(), by_mean.end());
    const double wide = std::max(width[0], width[1]);
    const std::vector<double> x = evenly(-wide / 2, wide / 2, by_mean.size(), 1.3);
    for (std::size_t i = 0; i < by_mean.size(); ++i) {
      PictureNode& node = p.nodes[by_mean[i].second];
      node.at = {.x = x[i], .y = 0};
      node.width = 1.1;
    }
    // NICs on the sides that face, in the order of their ranks.
    for (int b = 0; b < count; ++b) {
      std::vector<std::pair<double, Rank>> leaving;
      for (Rank r : parts_.boxes[b])
        if (leaves(p, r)) leaving.emplace_back(p.nodes[r].at.x, r);
      std::sort(leaving.begin(), leaving.end());
      double before = -1e300;
      for (auto& [at, r] : leaving) {
        before = std::max(at, before + kNicsApart);
        add_nic(p, r, {.x = before, .y = b < upper ? p.boxes[b].bottom : p.boxes[b].top});
      }
    }
  }

  // As the graph that the boxes are: a ring of servers, a grid of them.
  void place_like_graph(Placed& p) {
    Graph g(parts_.boxes.size());
    for (const Link& l : parts_.t.links)
      if (const int a = box_of_rank_[l.src], b = box_of_rank_[l.dst]; a != b) {
        g[a].push_back(b);
        g[b].push_back(a);
      }
    for (std::vector<int>& next : g) {
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
    }
    const std::vector<BoxInside> inside = insides(2);
    double size = 0;
    for (const BoxInside& box : inside) size = std::max({size, std::hypot(box.width(), box.height())});
    const std::vector<Spot> spots = arrange(g).spots;
    double least = 1e300;
    for (std::size_t a = 0; a < spots.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) least = std::min(least, apart(spots[a], spots[b]));
    const double scale = (size + 0.6) / least;
    for (std::size_t b = 0; b < spots.size(); ++b)
      inside[b].put(p, static_cast<int>(b), spots[b].x * scale, spots[b].y * scale, false);
    for (Rank r = 0; r < parts_.t.ranks; ++r)
      if (leaves(p, r)) add_nic(p, r, at_border(p, r));
  }

  bool leaves(const Placed& p, Rank r) const {
    return std::any_of(parts_.near[r].begin(), parts_.near[r].end(),
                       [&](int n) { return p.box_of[n] != p.box_of[r]; });
  }

  // Where the line from the rank to the middle of what it is joined to outside meets its box.
  Spot at_border(const Placed& p, Rank r) const {
    const Box& box = p.boxes[p.box_of[r]];
    Spot to;
    double count = 0;
    for (int n : parts_.near[r])
      if (p.box_of[n] != p.box_of[r]) {
        to = {.x = to.x + p.nodes[n].at.x, .y = to.y + p.nodes[n].at.y};
        ++count;
      }
    const Spot& from = p.nodes[r].at;
    const double dx = to.x / count - from.x, dy = to.y / count - from.y;
    const double tx = dx == 0 ? 1e300 : ((dx > 0 ? box.right : box.left) - from.x) / dx;
    const double ty = dy == 0 ? 1e300 : ((dy > 0 ? box.bottom : box.top) - from.y) / dy;
    const double along = std::min({tx, ty, 1e6});
    Spot at = {.x = from.x + along * dx, .y = from.y + along * dy};
    for (bool again = true; again;) {  // round the border, away from the NICs that there are
      again = false;
      for (const PictureNode& node : p.nodes)
        if (node.kind == Kind::Nic && apart(node.at, at) < kNicsApart) again = true;
      if (again) (tx < ty ? at.y : at.x) += kNicsApart / 2;
    }
    return at;
  }

  static void add_nic(Placed& p, Rank r, const Spot& at) {
    p.nic_of[r] = static_cast<int>(p.nodes.size());
    p.nodes.push_back(
        {.kind = Kind::Nic, .name = "NIC of " + std::to_string(r), .at = at, .width = 0.34, .height = 0.34});
    p.box_of.push_back(p.box_of[r]);
  }

  const Parts& parts_;
  std::vector<std::vector<int>> own_;  // switches, by box
  std::vector<int> box_of_rank_;
  std::vector<int> between_ = {};  // switches
};

Placed place(const Parts& parts) {
  const int ranks = parts.t.ranks;
  bool trunks = false;
  for (int s = ranks; s < ranks + parts.switches(); ++s)
    for (int n : parts.near[s]) trunks |= n >= ranks;
  if (trunks) return Layers(parts).place();
  if (!parts.boxes.empty()) return Boxes(parts).place();
  if (parts.switches() == 0) return as_graph(parts);
  const bool direct = std::any_of(parts.fabric.through.begin(), parts.fabric.through.end(),
                                  [](const std::vector<Node>& way) { return way.empty(); });
  const bool one = parts.switches() == 1 && parts.near[ranks].size() == static_cast<std::size_t>(ranks);
  return one && !direct ? as_wheel(parts) : spread(parts);
}

// -- wires -----------------------------------------------------------------------------------------------------------

void add_wires(const Parts& parts, const Placed& p, Picture& picture) {
  std::map<std::pair<int, int>, int> number;
  std::map<std::pair<int, int>, int> direct;  // bandwidth of direct links, one direction
  picture.ways.resize(parts.t.links.size());
  for (LinkId l = 0; l < static_cast<int>(parts.t.links.size()); ++l) {
    const Link& link = parts.t.links[l];
    std::vector<int> nodes = stops(parts.t, parts.fabric, l);
    const int src_nic = p.nic_of[link.src], dst_nic = p.nic_of[link.dst];
    const bool out = src_nic >= 0 && p.box_of[nodes[1]] != p.box_of[link.src];
    const bool in = dst_nic >= 0 && p.box_of[nodes[nodes.size() - 2]] != p.box_of[link.dst];
    if (in) nodes.insert(nodes.end() - 1, dst_nic);
    if (out) nodes.insert(nodes.begin() + 1, src_nic);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      const int a = std::min(nodes[i - 1], nodes[i]), b = std::max(nodes[i - 1], nodes[i]);
      const auto [found, fresh] = number.emplace(std::pair(a, b), static_cast<int>(picture.wires.size()));
      if (fresh) picture.wires.push_back({.a = a, .b = b});
      Wire& wire = picture.wires[found->second];
      (nodes[i] == b ? wire.there : wire.back) = true;
      const int sum = nodes.size() == 2 ? direct[{nodes[i - 1], nodes[i]}] += link.bandwidth : link.bandwidth;
      wire.bandwidth = std::max(wire.bandwidth, sum);
      picture.ways[l].push_back(found->second);
    }
  }
  for (const Wrap& wrap : p.wraps)
    if (const auto found = number.find(std::minmax(wrap.a, wrap.b)); found != number.end()) {
      Wire& wire = picture.wires[found->second];
      wire.wraps = true;
      wire.out = wire.a == wrap.a ? wrap.out : Spot{.x = -wrap.out.x, .y = -wrap.out.y};
    }
}

// Where a wire from `to` meets the node: as near as its width lets it.
Spot meets(const PictureNode& node, const Spot& to) {
  const double reach = std::max(0.0, node.width / 2 - 0.25);
  if (node.kind != Kind::Switch || std::abs(to.y - node.at.y) < node.height / 2) return node.at;
  return {.x = std::clamp(to.x, node.at.x - reach, node.at.x + reach), .y = node.at.y};
}

void find_ends(Picture& picture) {
  for (Wire& wire : picture.wires) {
    const PictureNode &a = picture.nodes[wire.a], &b = picture.nodes[wire.b];
    wire.start = meets(a, b.at);
    wire.end = meets(b, wire.start);
    wire.start = meets(a, wire.end);
  }
}

// The point of a wire: a quadratic curve whose middle is `bend` beside the straight line.
Spot on_wire(const Spot& a, const Spot& b, double bend, double along) {
  const double length = std::max(apart(a, b), 1e-9), beside = 4 * bend * along * (1 - along);
  return {.x = a.x + along * (b.x - a.x) + beside * (b.y - a.y) / length,
          .y = a.y + along * (b.y - a.y) - beside * (b.x - a.x) / length};
}

double clearance(const Picture& picture, const Wire& wire, double bend) {
  const Spot &a = wire.start, &b = wire.end;
  const int points = std::max(8, static_cast<int>(5 * apart(a, b)));
  double least = 1e300;
  for (std::size_t n = 0; n < picture.nodes.size(); ++n) {
    const PictureNode& node = picture.nodes[n];
    if (static_cast<int>(n) == wire.a || static_cast<int>(n) == wire.b) continue;
    for (int i = 1; i < points; ++i) {
      const Spot at = on_wire(a, b, bend, static_cast<double>(i) / points);
      const double dx = std::max(0.0, std::abs(at.x - node.at.x) - node.width / 2);
      const double dy = std::max(0.0, std::abs(at.y - node.at.y) - node.height / 2);
      least = std::min(least, node.kind == Kind::Rank ? apart(at, node.at) - node.width / 2 : std::hypot(dx, dy));
    }
  }
  return least;
}

// A wire that would run over a node goes round it, by the least of some bends; outward rather than inward.
void bend_round_nodes(Picture& picture) {
  if (picture.wires.size() * picture.nodes.size() > kMostBent * 64) return;
  Spot middle;
  for (const PictureNode& node : picture.nodes)
    middle = {.x = middle.x + node.at.x / static_cast<double>(picture.nodes.size()),
              .y = middle.y + node.at.y / static_cast<double>(picture.nodes.size())};
  for (Wire& wire : picture.wires) {
    // Between NICs there is open ground, and they stand so near that wires would only swing about.
    const auto is_nic = [&](int n) { return picture.nodes[n].kind == Kind::Nic; };
    if (wire.wraps || is_nic(wire.a) || is_nic(wire.b)) continue;
    const Spot &a = wire.start, &b = wire.end;
    double best = clearance(picture, wire, 0);
    const bool outward = apart(on_wire(a, b, 0.1, 0.5), middle) >= apart(on_wire(a, b, -0.1, 0.5), middle);
    for (int i = 1; best < kClear && i <= 10; ++i)
      for (double side : {outward ? 1.0 : -1.0, outward ? -1.0 : 1.0}) {
        const double bend = side * 0.12 * i * std::max(1.0, apart(a, b) / 2);
        if (const double clear = clearance(picture, wire, bend); best < kClear && clear > best) {
          best = clear;
          wire.bend = bend;
        }
      }
  }
}

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
  for (const Wire& w : picture.wires) {
    if (w.wraps) {
      hold(w.start.x + w.out.x, w.start.y + w.out.y, 0.1, 0.1);
      hold(w.end.x - w.out.x, w.end.y - w.out.y, 0.1, 0.1);
    } else {
      const Spot at = on_wire(w.start, w.end, w.bend, 0.5);
      hold(at.x, at.y, 0.1, 0.1);
    }
  }
  const double x = kMargin - left, y = kMargin - top;
  const auto move = [&](Spot& s) { s = {.x = s.x + x, .y = s.y + y}; };
  for (PictureNode& n : picture.nodes) move(n.at);
  for (Wire& w : picture.wires) {
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

Picture picture_of(const Topology& t) {
  const Parts parts = parts_of(t);
  Placed placed = place(parts);
  Picture picture{.shape = placed.shape, .nodes = placed.nodes, .boxes = placed.boxes};
  add_wires(parts, placed, picture);
  find_ends(picture);
  bend_round_nodes(picture);
  fit(picture);
  return picture;
}

}  // namespace chorale
