// Guess, and prove by building: every division of the ranks into levels is tried, the fewest levels first.
// The links of rank 0 leave one or two shapes for each level; its limits give the rates of ports, rings and
// exits; and the levels count only if their graph is the one that was given, rate by rate and limit by limit.
// So a wrong guess costs a moment and never a wrong answer.
//
// Alternative that lost: to find blocks by comparing links. On a hypercube or a full mesh many divisions fit
// the links equally well, and which of them fits the limits is known only when all are composed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "ir/words.h"
#include "topology/level_routes.h"
#include "topology/levels.h"

namespace chorale {
namespace {

using Kind = LevelPart::Kind;
using Shape = LinkModel::Shape;

constexpr int kMostLevels = 8;
constexpr int kMostPorts = 1024;

bool same(double a, double b) {
  return std::abs(a - b) <= kSameRate * std::max(std::abs(a), std::abs(b));
}

// A graph by its rates, without limits that do not bind, so that equivalent descriptions are equal: a link is
// no faster than any limit over it, and a limit as wide as all its links together is left out. Built from
// either view; the first is given, the second a guess.
struct Rates {
  struct Line {
    double gbs = 0, alpha_us = 0;
  };
  int ranks = 0;
  std::map<std::pair<Rank, Rank>, Line> lines = {};
  std::map<std::set<std::pair<Rank, Rank>>, double> limits = {};  // GB/s, by what they are over
  bool parallel = false;  // several links between the same two: no levels have these

  // Of a given graph: links are cut down to the limits over them first, so that a limit counts only if it
  // still binds then.
  explicit Rates(const Topology& graph) : ranks(graph.ranks) {
    const double unit = 1e-3 / round_beta_us_per_byte(graph);
    std::vector<double> rates;
    for (const Link& link : graph.links) rates.push_back(link.bandwidth * 1e-3 / link.beta_us_per_byte);
    for (const SharedLimit& limit : graph.limits)
      for (LinkId l : limit.links) rates[l] = std::min(rates[l], limit.bandwidth * unit);
    for (std::size_t l = 0; l < rates.size(); ++l) {
      const Link& link = graph.links[l];
      parallel = parallel || !lines.try_emplace({link.src, link.dst}, Line{rates[l], link.alpha_us}).second;
    }
    for (const SharedLimit& limit : graph.limits) {
      double all = 0;
      std::set<std::pair<Rank, Rank>> pairs;
      for (LinkId l : limit.links) {
        all += rates[l];
        pairs.insert({graph.links[l].src, graph.links[l].dst});
      }
      const double gbs = limit.bandwidth * unit;
      if (all <= gbs || same(all, gbs)) continue;
      const auto [at, added] = limits.try_emplace(std::move(pairs), gbs);
      at->second = std::min(at->second, gbs);
    }
  }

  Rates(int devices, const LevelGraph& graph) : ranks(devices) {
    for (std::size_t l = 0; l < graph.lines.size(); ++l)
      lines[{graph.lines[l].src, graph.lines[l].dst}] = {graph.taken.rates[l], graph.lines[l].alpha_us};
    for (const auto& [part, gbs] : graph.binding) {
      std::set<std::pair<Rank, Rank>> pairs;
      for (LinkId l : graph.taken.links.at(part)) pairs.insert({graph.lines[l].src, graph.lines[l].dst});
      limits[std::move(pairs)] = gbs;
    }
  }

  const Line* find(Rank a, Rank b) const {
    const auto at = lines.find({a, b});
    return at == lines.end() ? nullptr : &at->second;
  }

  bool operator==(const Rates& other) const {
    return ranks == other.ranks &&
           std::ranges::equal(lines, other.lines,
                              [](const auto& a, const auto& b) {
                                return a.first == b.first && same(a.second.gbs, b.second.gbs) &&
                                       same(a.second.alpha_us, b.second.alpha_us);
                              }) &&
           std::ranges::equal(limits, other.limits, [](const auto& a, const auto& b) {
             return a.first == b.first && same(a.second, b.second);
           });
  }
};

bool alike(const Rates::Line& a, const Rates::Line& b) {
  return same(a.gbs, b.gbs) && same(a.alpha_us, b.alpha_us);
}

// The shapes that explain what rank 0 is linked with in its unit of n children, `below` devices in each: a
// switch links it with all, a ring with the next and the last, a ring with a detour or a host with these and
// otherwise with all others, through a host slower where they are on another socket; over rails with one
// device of a child in place of all of them. Of three children a ring links the same as a switch, so a unit
// may have several.
std::vector<LinkModel> shapes(const Rates& rates, int n, int below) {
  std::vector<LinkModel> result;
  const Rates::Line* const first = rates.find(0, below);
  if (first == nullptr) return {};
  const auto fits = [&](bool rails, auto expected) {
    for (Rank b = below; b < n * below; ++b) {
      const Rates::Line* const line = rates.find(0, b);
      const Rates::Line* const like = rails && b % below != 0 ? nullptr : expected(b / below);
      if ((line == nullptr) != (like == nullptr) || (line != nullptr && !alike(*line, *like))) return false;
    }
    return true;
  };
  for (bool rails : {false, true}) {
    if (rails && below == 1) continue;
    const auto near = [&](int child) { return child == 1 || child == n - 1; };
    if (fits(rails, [&](int) { return first; })) result.push_back({.rails = rails});
    if (n >= 3 && fits(rails, [&](int child) { return near(child) ? first : nullptr; }))
      result.push_back({.shape = Shape::Ring, .rails = rails});
    if (n < 4) continue;
    const Rates::Line* const far = rates.find(0, 2 * below);
    if (far != nullptr && fits(rails, [&](int child) { return near(child) ? first : far; }))
      result.push_back({.shape = Shape::Ring, .rails = rails, .detour = SharedPath{}});
    for (int socket = 1; socket <= n; ++socket) {
      if (n % socket != 0) continue;
      const Rates::Line* const own = socket > 2 ? far : nullptr;
      const Rates::Line* const other = rates.find(0, std::max(socket, 2) % n * below);
      if (fits(rails, [&](int child) { return near(child) ? first : child < socket ? own : other; }))
        result.push_back(
            {.shape = Shape::Ring, .rails = rails, .host = HostPath{.socket = {.children = socket}}});
    }
  }
  return result;
}

// Fills the rates into levels whose shapes are chosen; fails if some link of the graph has no path over them.
// Which links share a port, ring link or path follows from the shapes (topology/level_routes.h), once the
// number of children that share an exit is known. So exits are chosen first, such that the links of some path
// are just those of a limit; then every limit is read as the rate of its part.
// An exit is tried for every number of children that divides the level; the graph has the right one if
// some limit is over exactly the links that would share it. Nothing is fitted: what is not a limit of the
// graph is given the most that can come through, and the final comparison decides.
class RateReader {
 public:
  // Bit j of `own_exits`: the exit of level j is not its ports, even if some limit is over just these links.
  RateReader(const Rates& rates, Hierarchy& hierarchy, unsigned own_exits, long long& effort)
      : rates_(rates), hierarchy_(hierarchy), own_exits_(own_exits), effort_(effort) {}

  bool read() {
    if (!take()) return false;
    for (int j = std::ssize(hierarchy_.levels) - 1; j > 0; --j)
      if (!choose_exit(j)) return false;
    for (int j = 0; j < std::ssize(hierarchy_.levels); ++j)
      if ((link(j).detour && !choose_children(*link(j).detour, level(j).fan_out, {j, Kind::Detour, 0})) ||
          (link(j).host &&
           !choose_children(link(j).host->uplink, link(j).host->socket.children, {j, Kind::HostUp, 0})))
        return false;
    read_parts();
    for (std::size_t j = 0; j < hierarchy_.levels.size(); ++j) fill_in(static_cast<int>(j));
    return true;
  }

 private:
  Level& level(int j) { return hierarchy_.levels[j]; }
  LinkModel& link(int j) { return level(j).link; }

  // The parts that each link takes, as far as they are decided.
  bool take() {
    // A path through a host has four parts where others have one.
    const auto hosts =
        std::ranges::count_if(hierarchy_.levels, [](const Level& l) { return l.link.host.has_value(); });
    effort_ -= std::ssize(rates_.lines) * (std::ssize(hierarchy_.levels) + 3 * hosts);
    if (effort_ < 0) return false;
    taken_ = {};
    pairs_.clear();
    const LevelRoutes ways(hierarchy_);
    for (const auto& [ends, line] : rates_.lines) {
      const auto way = ways.route(ends.first, ends.second);
      if (!way) return false;
      taken_.add(line.gbs, *way);
      pairs_.push_back(ends);
    }
    return true;
  }

  // The limit over all links of the part, if the graph has one.
  std::optional<double> limit_of(const LevelPart& part) const {
    const auto links = taken_.links.find(part);
    if (links == taken_.links.end()) return std::nullopt;
    std::set<std::pair<Rank, Rank>> pairs;
    for (LinkId l : links->second) pairs.insert(pairs_[l]);
    const auto limit = rates_.limits.find(pairs);
    return limit == rates_.limits.end() ? std::nullopt : std::optional(limit->second);
  }

  // Of inner levels: is the exit the port, or how many children share another exit?
  bool choose_exit(int j) {
    if (link(j).host) return true;
    if (!(own_exits_ >> j & 1) && link(j).shape == Shape::Switch && limit_of({j, Kind::PortOut, 0}))
      return true;
    if (!choose_children(link(j).exit.emplace(), level(j).fan_out, {j, Kind::ExitOut, 0})) return false;
    if (link(j).shape == Shape::Switch || limit_of({j, Kind::ExitOut, 0})) return true;
    link(j).exit.reset();
    return take();
  }

  // How many of the children share the path: such that some limit is over just its links, or one.
  bool choose_children(SharedPath& path, int children, const LevelPart& first) {
    for (path.children = 1; path.children <= children; ++path.children) {
      if (children % path.children != 0) continue;
      if (!take()) return false;
      if (limit_of(first)) return true;
    }
    path.children = 1;
    return take();
  }

  // The rate of a limit, and for other parts the most that can come through: not a guess, since no limit is
  // smaller, and the part then binds nothing.
  void read_parts() {
    for (const auto& [part, links] : taken_.links)
      if (const auto limit = limit_of(part)) known_[part] = *limit;
    std::map<LevelPart, double> all = known_;
    for (const auto& [part, links] : taken_.links)
      if (!known_.contains(part)) all[part] = implied_rate(taken_, part, known_);
    known_ = std::move(all);
  }

  // The rate of the level's first part of a kind; 1 where no link takes one, since any rate will do.
  double first(int j, Kind kind) const {
    const auto at = known_.find({j, kind, 0});
    return at == known_.end() ? 1 : at->second;
  }

  void fill_in(int j) {
    LinkModel& model = link(j);
    int below = 1;
    for (std::size_t k = j + 1; k < hierarchy_.levels.size(); ++k) below *= hierarchy_.levels[k].fan_out;
    const Rates::Line& line = *rates_.find(0, below);
    model.latency_us = line.alpha_us;
    const double all = first(j, model.shape == Shape::Switch ? Kind::PortOut : Kind::Forward);
    // A port is as fast as one link if an integer of these makes what a child sends in all.
    const double ports = std::round(all / line.gbs);
    const bool split = model.shape == Shape::Switch && ports <= kMostPorts && same(ports * line.gbs, all);
    model.bandwidth_gbs = split ? line.gbs : all;
    model.ports = split ? static_cast<int>(ports) : 1;
    if (model.exit) model.exit->bandwidth_gbs = first(j, Kind::ExitOut);
    if (model.detour) model.detour->bandwidth_gbs = first(j, Kind::Detour);
    if (model.host) {
      model.host->uplink.bandwidth_gbs = first(j, Kind::HostUp);
      model.host->socket.bandwidth_gbs = first(j, Kind::SocketOut);
    }
    double slowest = all;
    for (std::size_t l = 0; l < pairs_.size(); ++l)
      if (pairs_[l] == std::pair<Rank, Rank>(0, below))
        for (const LevelPart& part : taken_.parts[l]) slowest = std::min(slowest, known_.at(part));
    // No part of its path slows the link down so far: then it is a stream's own rate.
    if (line.gbs < slowest && !same(line.gbs, slowest)) model.stream_gbs = line.gbs;
  }

  const Rates& rates_;
  Hierarchy& hierarchy_;
  const unsigned own_exits_;
  long long& effort_;
  TakenParts taken_ = {};
  std::vector<std::pair<Rank, Rank>> pairs_ = {};  // by link of taken_
  std::map<LevelPart, double> known_ = {};
};

// The first rank whose total rate differs from that of rank 0. Children of levels are equal in that, too,
// except behind a host (LevelSearch::may_differ).
std::optional<std::string> slower(const Rates& rates) {
  std::vector<double> gbs(rates.ranks, 0);
  for (const auto& [ends, line] : rates.lines) gbs[ends.first] += line.gbs;
  for (Rank n = 1; n < rates.ranks; ++n)
    if (!same(gbs[n], gbs[0]))
      return fmt::format("has {:.6g} GB/s out of rank 0, {:.6g} out of rank {}", gbs[0], gbs[n], n);
  return std::nullopt;
}

// Divisions x shapes x exits. The work is counted in links that are looked at, so that it ends at the same
// place on every machine.
class LevelSearch {
 public:
  LevelSearch(const Topology& graph, long long work)
      : graph_(graph), rates_(graph), differ_(slower(rates_).has_value()), effort_(work) {}
  const Rates& rates() const { return rates_; }
  bool gave_up() const { return effort_ < 0; }

  std::optional<Hierarchy> find() {
    for (int levels = 1; levels <= kMostLevels; ++levels)
      if (divide(graph_.ranks, levels)) return found_;
    return std::nullopt;
  }

 private:
  // All factorizations of `left` into `levels` factors, each 2 or more, outermost first. Eight ranks in two
  // levels: 2 x 4, then 4 x 2.
  bool divide(int left, int levels) {
    if (levels == 1) {
      fan_outs_.push_back(left);
      const bool done = left >= 2 && shape(0);
      fan_outs_.pop_back();
      return done;
    }
    for (int n = 2; n <= left / 2; ++n) {
      if (left % n != 0) continue;
      fan_outs_.push_back(n);
      const bool done = divide(left / n, levels - 1);
      fan_outs_.pop_back();
      if (done) return true;
    }
    return false;
  }

  // All choices of a shape for each level, outermost first.
  bool shape(std::size_t j) {
    if (j == fan_outs_.size()) return prove();
    int below = 1;
    for (std::size_t k = j + 1; k < fan_outs_.size(); ++k) below *= fan_outs_[k];
    if (gave_up()) return false;
    for (const LinkModel& model : shapes(rates_, fan_outs_[j], below)) {
      chosen_.push_back(
          {.name = level_name(fan_outs_.size() - 1 - j), .fan_out = fan_outs_[j], .link = model});
      const bool done = shape(j + 1);
      chosen_.pop_back();
      if (done) return true;
    }
    return false;
  }

  // How many of the others hang on a child's own socket depends on its place, so its rates in all do, if a
  // host is slower between sockets than within one.
  bool may_differ() const {
    int below = graph_.ranks;
    for (const Level& level : chosen_) {
      below /= level.fan_out;
      if (!level.link.host || level.link.host->socket.children < 3) continue;
      const Rates::Line* const own = rates_.find(0, 2 * below);
      const int away = level.link.host->socket.children;
      const Rates::Line* const other = away < level.fan_out ? rates_.find(0, away * below) : nullptr;
      if (own != nullptr && other != nullptr && !same(own->gbs, other->gbs)) return true;
    }
    return false;
  }

  // Reads the rates and builds the graph of what was read. Which exits are not the ports cannot be inferred
  // from limits alone, so all combinations are tried, those with ports first.
  bool prove() {
    if (differ_ && !may_differ()) return false;
    for (unsigned own_exits = 0; own_exits < 1u << chosen_.size();
         own_exits += 2) {  // the outermost does not have an exit
      Hierarchy guess{
          .name = graph_.name, .levels = chosen_, .node_level = static_cast<int>(chosen_.size()) - 1};
      if (!RateReader(rates_, guess, own_exits, effort_).read()) return false;
      if (Rates(graph_.ranks, level_graph(guess)) != rates_) continue;
      found_ = std::move(guess);
      return true;
    }
    return false;
  }

  const Topology& graph_;
  const Rates rates_;
  const bool differ_;  // ranks, in what they send in all
  long long effort_;
  std::vector<int> fan_outs_ = {};
  std::vector<Level> chosen_ = {};
  Hierarchy found_ = {};
};

// The first rank that has fewer neighbours than rank 0, or more. Children of levels are equal in that, so
// such a graph does not have levels, and this gives the reason in words that help.
std::optional<std::string> unlike(const Rates& rates) {
  std::vector<int> links(rates.ranks, 0);
  for (const auto& [ends, line] : rates.lines) ++links[ends.first];
  for (Rank n = 1; n < rates.ranks; ++n)
    if (links[n] != links[0])
      return fmt::format("has {} out of rank 0, {} out of rank {}", counted(links[0], "link"), links[n], n);
  return std::nullopt;
}

}  // namespace

std::string level_name(std::size_t from_inside) {
  static const std::vector<std::string> names = {"rank", "node", "rack", "pod"};
  return from_inside < names.size() ? names[from_inside] : fmt::format("level{}", from_inside);
}

Levels levels_of(const Topology& graph, long long work) {
  if (graph.ranks == 1)
    return {.hierarchy = Hierarchy{.name = graph.name, .levels = {{.name = level_name(0)}}}};
  LevelSearch search(graph, work);
  if (search.rates().parallel) return {.why_none = "has several links between the same two ranks"};
  if (const auto why = unlike(search.rates())) return {.why_none = *why};
  if (std::optional<Hierarchy> found = search.find()) return {.hierarchy = std::move(found)};
  if (search.gave_up()) return {.why_none = "has no division that was found in a moment"};
  if (const auto why = slower(search.rates())) return {.why_none = *why};
  return {.why_none =
              fmt::format("is not {} divided into equal groups of equal groups: its links and limits differ",
                          counted(graph.ranks, "rank"))};
}

}  // namespace chorale
