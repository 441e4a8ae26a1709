// Levels of a machine that is given with its switches, from maximum flows. Units of a level are runs of
// ranks that are nearer to each other, in latency or in rate, than to all others; what a unit's port, exit
// and single stream carry are minimum cuts between its ranks and the others. All units of a level have to
// agree, or the machine has no levels, with the reason in words.
//
// The result is a summary of the graph, and not equal to it.
#include "topology/cuts_to_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/max_flow.h"
#include "graph/paths.h"
#include "ir/words.h"
#include "topology/level_routes.h"

namespace chorale {

namespace {

// A machine with switches as a graph: routes between two ranks, which lead through switches only, minimum
// cuts, and symmetries.
constexpr double kNoRoute = std::numeric_limits<double>::infinity();
constexpr double kFlowUnits = 1e6;  // of flow in a GB/s

bool nearly(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b));
}

double gbs_of(const Link& link) {
  return link.bandwidth * 1e-3 / link.beta_us_per_byte;
}

// Of two ranks: the least latency of a route, and the rate of the widest.
struct RoutePair {
  double alpha_us = kNoRoute, gbs = 0;
};

// Routes between two ranks lead through switches only.
class RouteGraph {
 public:
  explicit RouteGraph(const Topology& machine) : machine_(machine), out_(machine.ranks + machine.switches) {
    for (std::size_t l = 0; l < machine.links.size(); ++l)
      out_[machine.links[l].src].push_back(static_cast<LinkId>(l));
  }

  // [rank] -> the least latency of a route to it, and the rate of the widest route.
  std::vector<RoutePair> from(Rank source) const {
    const std::vector<double> alpha_us = latencies(source), gbs = rates(source);
    std::vector<RoutePair> pairs;
    for (Rank n = 0; n < machine_.ranks; ++n) pairs.push_back({.alpha_us = alpha_us[n], .gbs = gbs[n]});
    return pairs;
  }

  // Does the machine look the same to each rank r as to image(r)? Then cuts between ranks equal those between
  // their images. Switches get the colours of what they are joined with, from distinct colours of all ranks,
  // until nothing changes (colour refinement); two colourings that agree are fractionally isomorphic, which
  // preserves the values of linear programs such as flows (Grohe, Kersting, Mladenov, Selman 2014).
  template <typename Image>
  bool is_symmetry(Image image) const {
    std::vector<int> here(out_.size(), machine_.ranks), there = here;
    for (Rank r = 0; r < machine_.ranks; ++r) {
      here[r] = r;
      there[r] = image(r);
    }
    for (std::size_t known = 0;;) {
      std::map<std::vector<Edge>, int> colours;
      const auto refined = [&](const std::vector<int>& colour) {
        std::vector<std::vector<Edge>> around(out_.size());
        for (Node n = machine_.ranks; n < std::ssize(out_); ++n)
          around[n].push_back({static_cast<double>(colour[n]), 0, 0, 0});
        for (const Link& link : machine_.links) {
          if (link.src >= machine_.ranks) around[link.src].push_back(edge(1, colour[link.dst], link));
          if (link.dst >= machine_.ranks) around[link.dst].push_back(edge(2, colour[link.src], link));
        }
        std::vector<int> result = colour;
        for (Node n = machine_.ranks; n < std::ssize(out_); ++n) {
          std::sort(around[n].begin() + 1, around[n].end());
          result[n] =
              colours.try_emplace(std::move(around[n]), machine_.ranks + static_cast<int>(colours.size()))
                  .first->second;
        }
        return result;
      };
      here = refined(here);
      there = refined(there);
      if (colours.size() == known) break;
      known = colours.size();
    }
    const auto coloured = [&](const std::vector<int>& colour) {
      std::vector<Edge> all;
      for (const Link& link : machine_.links) all.push_back(edge(colour[link.src], colour[link.dst], link));
      std::ranges::sort(all);
      return all;
    };
    return coloured(here) == coloured(there);
  }

  // Switches on a route of least latency, in its order.
  std::vector<Node> route(Rank source, Rank to) const {
    const std::vector<double> alpha = latencies(source);
    std::vector<Node> nodes;
    for (Node at = to; at != source;) {
      const auto before = std::ranges::find_if(machine_.links, [&](const Link& link) {
        return link.dst == at && (link.src == source || link.src >= machine_.ranks) &&
               nearly(alpha[link.src] + link.alpha_us, alpha[at]);
      });
      if (before == machine_.links.end() || nodes.size() > out_.size()) return {};
      at = before->src;
      if (at != source) nodes.push_back(at);
    }
    std::ranges::reverse(nodes);
    return nodes;
  }

  // The minimum cut in GB/s from the `n` ranks from a on to all sinks; of the opposite direction.
  double cut(Rank a, int n, const std::function<bool(Rank)>& is_sink, bool backwards) const {
    MaxFlow flow(static_cast<int>(out_.size()) + 2);
    const int source = static_cast<int>(out_.size()), sink = source + 1;
    const auto is_source = [&](Rank r) { return r >= a && r < a + n; };
    for (const Link& link : machine_.links) {
      const Node from = backwards ? link.dst : link.src, to = backwards ? link.src : link.dst;
      if (from < machine_.ranks && !is_source(from)) continue;
      if (to < machine_.ranks && !is_sink(to)) continue;
      flow.add_arc(from, to, std::llround(gbs_of(link) * kFlowUnits));
    }
    constexpr std::int64_t kAll = std::int64_t{1} << 50;
    for (Rank r = 0; r < machine_.ranks; ++r) {
      if (is_source(r)) flow.add_arc(source, r, kAll / n);
      if (is_sink(r)) flow.add_arc(r, sink, kAll);
    }
    return static_cast<double>(flow.run(source, sink)) / kFlowUnits;
  }

 private:
  using Edge = std::array<double, 4>;
  static Edge edge(int a, int b, const Link& link) {
    return {static_cast<double>(a), static_cast<double>(b), gbs_of(link), link.alpha_us};
  }

  // By node: the least latency of a route to it, and the rate of the widest.
  std::vector<double> latencies(Rank source) const {
    return search(source, 0.0, kNoRoute, std::less<>(),
                  [](double so_far, const Link& link) { return so_far + link.alpha_us; });
  }
  std::vector<double> rates(Rank source) const {
    return search(source, kNoRoute, 0.0, std::greater<>(),
                  [](double so_far, const Link& link) { return std::min(so_far, gbs_of(link)); });
  }
  template <typename Better, typename Further>
  std::vector<double> search(Rank source, double start, double none, Better better, Further further) const {
    const auto links = [&](Node n, double so_far, const auto& reach) {
      if (n < machine_.ranks && n != source) return;  // routes end at ranks
      for (const LinkId l : out_[n]) reach(machine_.links[l].dst, l, further(so_far, machine_.links[l]));
    };
    return cheapest_paths(static_cast<int>(out_.size()), std::vector<Node>{source}, start, none, links,
                          better)
        .cost;
  }

  const Topology& machine_;
  std::vector<std::vector<LinkId>> out_;
};

// Hops of PCI differ by the position of a device: of these latencies the longest counts.
constexpr double kLatencySpread = 1.5;

bool alike(const RoutePair& a, const RoutePair& b) {
  const auto [least, most] = std::minmax(a.alpha_us, b.alpha_us);
  return nearly(a.gbs, b.gbs) && most <= kLatencySpread * least;
}

class CutLevels {
 public:
  explicit CutLevels(const Topology& machine) : machine_(machine), graph_(machine), pairs_(machine.ranks) {}

  // Sizes are found twice: as rank 0 sees them, which gives the rotations that may be symmetries, and then as
  // all ranks see them that these leave different.
  Levels levels() {
    if (!all_linked()) return {.why_none = why_};
    find_sizes();
    examined_ = alike_below();
    if (examined_ > kMostCutRanks)
      return {.why_none = fmt::format("has over {} ranks that are not equivalent", kMostCutRanks)};
    if (!all_linked()) return {.why_none = why_};
    find_sizes();
    Hierarchy found{.name = machine_.name};
    for (std::size_t j = 0; j + 1 < sizes_.size(); ++j) {
      const std::optional<Level> level = level_of(j);
      if (!level) return {.why_none = why_};
      found.levels.push_back(*level);
    }
    found.node_level = static_cast<int>(found.levels.size()) - 1;
    return {.hierarchy = std::move(found), .by_cuts = true};
  }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  // Two searches per rank, for the ranks that are examined only.
  const std::vector<RoutePair>& pairs(Rank from) {
    if (pairs_[from].empty()) pairs_[from] = graph_.from(from);
    return pairs_[from];
  }

  // Where rotations of the children of all units of a size at once are symmetries, the ranks of the first
  // child stand for all: their number, of the innermost such size.
  int alike_below() const {
    for (std::size_t j = 0; j + 1 < sizes_.size(); ++j) {
      const int unit = sizes_[j], child = sizes_[j + 1];
      if (!graph_.is_symmetry([=](Rank r) { return r / unit * unit + (r % unit + child) % unit; }))
        return unit;
    }
    return 1;
  }

  bool all_linked() {
    for (Rank a = 0; a < examined_; ++a)
      for (Rank b = 0; b < machine_.ranks; ++b)
        if (a != b && pairs(a)[b].gbs == 0)
          return fail(fmt::format("has no route from rank {} to rank {} but through other ranks", a, b));
    return true;
  }

  // Are all pairs inside of units of that many ranks nearer than all others?
  bool divides(int size) {
    RoutePair farthest_inside{0, kNoRoute}, nearest_outside{kNoRoute, 0};
    for (Rank a = 0; a < examined_; ++a)
      for (Rank b = 0; b < machine_.ranks; ++b) {
        if (a == b) continue;
        const RoutePair& pair = pairs(a)[b];
        if (a / size == b / size)
          farthest_inside = {std::max(farthest_inside.alpha_us, pair.alpha_us),
                             std::min(farthest_inside.gbs, pair.gbs)};
        else
          nearest_outside = {std::min(nearest_outside.alpha_us, pair.alpha_us),
                             std::max(nearest_outside.gbs, pair.gbs)};
      }
    const auto less = [](double x, double y) { return x < y && !nearly(x, y); };
    return less(farthest_inside.alpha_us, nearest_outside.alpha_us) ||
           less(nearest_outside.gbs, farthest_inside.gbs);
  }

  // Ranks of units, from all down to one: each size divides the one before, since levels nest.
  void find_sizes() {
    sizes_ = {machine_.ranks};
    for (int size = machine_.ranks - 1; size > 1; --size)
      if (sizes_.back() % size == 0 && divides(size)) sizes_.push_back(size);
    sizes_.push_back(1);
  }

  std::string unit_words(Rank first, int size) const {
    return size == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {}-{}", first, first + size - 1);
  }

  // The same number for all units of `size` ranks from the first to the last; nullopt, with the reason, if
  // they differ.
  template <typename Of>
  std::optional<double> equal(int size, const char* what, Of of) {
    const double first = of(0);
    for (Rank a = size; a < examined_; a += size)
      if (const double other = of(a); !nearly(other, first)) {
        fail(fmt::format("has {:.6g} GB/s {} {}, {:.6g} {} {}", first, what, unit_words(0, size), other, what,
                         unit_words(a, size)));
        return std::nullopt;
      }
    return first;
  }

  // Both directions, all children.
  template <typename Sinks>
  std::optional<double> equal_cut(int size, Sinks sinks, const std::string& where) {
    const auto out =
        equal(size, ("out of" + where).c_str(), [&](Rank a) { return graph_.cut(a, size, sinks(a), false); });
    if (!out) return std::nullopt;
    const auto in =
        equal(size, ("into" + where).c_str(), [&](Rank a) { return graph_.cut(a, size, sinks(a), true); });
    if (!in) return std::nullopt;
    return std::min(*out, *in);
  }

  // Compared with the pair of the least latency. `latency_us` becomes the longest.
  bool pairs_alike(int unit, int child, double& latency_us) {
    RoutePair like = pairs(0)[child];
    for (Rank a = 0; a < examined_; ++a)
      for (Rank b = a / unit * unit; b < a / unit * unit + unit; ++b)
        if (a / child != b / child) {
          like.alpha_us = std::min(like.alpha_us, pairs(a)[b].alpha_us);
          latency_us = std::max(latency_us, pairs(a)[b].alpha_us);
        }
    for (Rank a = 0; a < examined_; ++a)
      for (Rank b = a / unit * unit; b < a / unit * unit + unit; ++b)
        if (a / child != b / child && !alike(pairs(a)[b], like))
          return fail(
              fmt::format("joins its units by {:.6g} GB/s in {:.3g} us, but rank {} with {} by "
                          "{:.6g} GB/s in {:.3g} us",
                          like.gbs, like.alpha_us, a, b, pairs(a)[b].gbs, pairs(a)[b].alpha_us));
    return true;
  }

  // The port is what a child exchanges with its siblings at once. Where a single pair gets less than the
  // inner levels would let through, that is the rate of one stream.
  std::optional<Level> level_of(std::size_t j) {
    const int unit = sizes_[j], child = sizes_[j + 1];
    double latency_us = 0;
    if (!pairs_alike(unit, child, latency_us)) return std::nullopt;
    const auto siblings = [=](Rank a) {
      return [=](Rank r) { return r / unit == a / unit && r / child != a / child; };
    };
    const auto port = equal_cut(child, siblings, "");
    if (!port) return std::nullopt;
    Level level{.name = level_name(sizes_.size() - 2 - j), .fan_out = unit / child};
    LinkModel& link = level.link;
    link.latency_us = latency_us;
    if (j > 0 && !read_exit(unit, child, *port, link)) return std::nullopt;
    const double pair = graph_.cut(
        0, 1, [=](Rank r) { return r == child; }, false);
    const double ports = std::round(*port / pair);
    const bool split = ports >= 1 && ports <= 1024 && nearly(ports * pair, *port);
    link.bandwidth_gbs = split ? pair : *port;
    link.ports = split ? static_cast<int>(ports) : 1;
    // Inner levels may be what keeps a single flow so slow.
    const auto inside =
        child == 1 ? std::optional(*port)
                   : equal_cut(
                         1, [=](Rank a) { return [=](Rank r) { return r / child != a / child; }; }, "");
    if (!inside) return std::nullopt;
    if (pair < *inside && !nearly(pair, *inside)) link.stream_gbs = pair;
    return level;
  }

  // What leaves the unit from a child: over its port, or beside it.
  // If a child exchanges more with all others than with either its siblings or the outside alone, then
  // port and exit are different paths. How many children share the exit: the largest group whose cut is no
  // more than that of one child.
  bool read_exit(int unit, int child, double port, LinkModel& link) {
    const auto outside = [=](Rank a) { return [=](Rank r) { return r / unit != a / unit; }; };
    const auto exit = equal_cut(child, outside, " the unit of");
    if (!exit) return false;
    const auto anywhere = [=](Rank a) { return [=](Rank r) { return r / child != a / child; }; };
    const double both =
        std::min(graph_.cut(0, child, anywhere(0), false), graph_.cut(0, child, anywhere(0), true));
    int sharing = 1;
    for (int children = 2; children <= unit / child; ++children) {
      if (unit / child % children != 0) continue;
      bool shared = true;
      for (Rank a = 0; shared && a < examined_; a += children * child)
        for (const bool backwards : {false, true})
          shared = shared && nearly(graph_.cut(a, children * child, outside(a), backwards), *exit);
      if (shared) sharing = children;
    }
    const bool beside = both > std::max(port, *exit) && !nearly(both, std::max(port, *exit));
    // All of the unit sharing it is the port of the level outside.
    const bool part = sharing > 1 && sharing < unit / child;
    const bool slower = *exit < port && !nearly(*exit, port);
    if (beside || part || (slower && sharing == 1))
      link.exit = SharedPath{.bandwidth_gbs = *exit, .children = sharing};
    return true;
  }

  const Topology& machine_;
  const RouteGraph graph_;
  std::vector<std::vector<RoutePair>> pairs_;  // [from][to]; empty: not needed yet
  int examined_ = 1;                           // ranks from 0 on that are looked at, and stand for all
  std::vector<int> sizes_ = {};
  std::string why_ = {};
};

}  // namespace

Levels levels_by_cuts(const Topology& machine) {
  if (!machine.limits.empty() || abilities_of(machine).any() || machine.ranks < 2) return {};
  return CutLevels(machine).levels();
}

// From the innermost level out. A level is named by what its children are: one rank is a GPU, as many as a
// node has are a node, more are racks and pods. Two nodes of two sockets of four GPUs have the levels node,
// socket, gpu.

namespace {

std::string unique_name(const std::string& name, std::set<std::string>& used) {
  for (int number = 1;; ++number)
    if (const std::string each = number == 1 ? name : fmt::format("{}{}", name, number);
        used.insert(each).second)
      return each;
}

}  // namespace

// A unit inside of a node is what the first switches on the route between two of its children are.
void name_levels(Hierarchy& hierarchy, const Topology& machine, int nodes) {
  if (nodes < 1 || machine.ranks % nodes != 0) return;
  const int per_node = machine.ranks / nodes;
  const RouteGraph graph(machine);
  std::set<std::string> used;
  int below = 1, outside = 0;  // units of several nodes so far
  std::vector<std::string> names(hierarchy.levels.size());
  hierarchy.node_level = 0;
  for (std::size_t j = hierarchy.levels.size(); j-- > 0;) {
    // The children of this level have `below` ranks.
    std::string name = below > per_node                 ? outside++ == 0 ? "rack" : "pod"
                       : below == per_node && nodes > 1 ? "node"
                       : below == 1                     ? "gpu"
                                                        : "";
    if (name.empty()) {
      // Ranks of a child of a child: the route from rank 0 to that rank leaves one and enters the next.
      int half = 1;
      for (std::size_t k = hierarchy.levels.size() - 1; k > j + 1; --k) half *= hierarchy.levels[k].fan_out;
      bool cpu = false, pci = false;
      for (const Node n : graph.route(0, half)) {
        cpu = cpu || node_kind(machine, n) == "CPU";
        pci = pci || node_kind(machine, n) == "PCI switch";
      }
      name = cpu ? "socket" : pci ? "pci" : "island";
    }
    names[j] = unique_name(name, used);
    below *= hierarchy.levels[j].fan_out;
    if (below > per_node) hierarchy.node_level = std::max(hierarchy.node_level, static_cast<int>(j) + 1);
  }
  for (std::size_t j = 0; j < names.size(); ++j) hierarchy.levels[j].name = names[j];
}

}  // namespace chorale
