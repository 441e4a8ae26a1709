// Levels of a machine that is given with its switches, from maximum flows. Units of a level are runs of
// ranks that are nearer to each other, in latency or in rate, than to all others; what a unit's port, exit
// and single stream carry are minimum cuts between its ranks and the others. All units of a level have to
// agree, or the machine has no levels, with the reason in words.
//
// The result is a summary of the graph, and not equal to it.
#include "topology/cuts_to_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/words.h"
#include "topology/level_routes.h"
#include "topology/route_graph.h"

namespace chorale {
namespace {

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

}  // namespace chorale
