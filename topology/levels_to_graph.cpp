// A hierarchy's links are all pairs that have a path (topology/level_routes.h); parts that paths share are
// limits.
//
// Most parts limit nothing that others do not: the ports of a node with a NIC for each of its devices, a PCIe
// path that is wider than the only NIC behind it. Such limits would cost every search clauses, so they are
// left out, from the outside in, and each only because of limits that stay. Nodes for switches would need
// fewer links, but would allow too much: a chunk could reverse at the switch between nodes and come back by
// another path.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "ir/error.h"
#include "ir/switch_gain.h"
#include "topology/level_routes.h"
#include "topology/levels.h"

namespace chorale {
namespace {

constexpr long long kMostGraphRanks = 4096, kMostGraphLinks = 1'000'000;
constexpr double kMostUnits = 1e6;

std::string limit_name(const LevelPart& part, const Hierarchy& hierarchy) {
  static constexpr const char* kNames[] = {"port out",  "port in",    "ring link ahead", "ring link back",
                                           "exit out",  "exit in",    "detour",          "host up",
                                           "host down", "socket out", "socket in"};
  return fmt::format("{} {} {}", hierarchy.levels[part.level].name, kNames[static_cast<int>(part.kind)],
                     part.index);
}

// Euclid's algorithm, on numbers that are nearly multiples of something. The rest is taken from the nearest
// multiple, above or below, so that a rate that is a hair under one leaves a hair and not nearly a whole
// unit; a hair is a millionth of the least rate.
double common_unit(std::span<const double> rates, const std::string& name) {
  const double least = *std::ranges::min_element(rates);
  double unit = least;
  for (double rate : rates)
    for (double rest = rate; rest > kSameRate * least;) {
      const double next = std::abs(unit - std::round(unit / rest) * rest);
      unit = rest;
      rest = next;
    }
  for (double rate : rates)
    if (rate / unit > kMostUnits)
      throw InputError(
          "hierarchy " + name,
          fmt::format("the rates {} and {} GB/s have no common unit of at least a millionth of them", least,
                      rate),
          "round them");
  return unit;
}

// One after the other, against those that are still there: were all dropped that the first list implies, two
// that imply each other would both be gone.
std::map<LevelPart, double> binding_parts(const TakenParts& taken, const Hierarchy& hierarchy) {
  std::map<LevelPart, double> binding;
  for (const auto& [part, links] : taken.links) binding[part] = rate_of(part, hierarchy);
  for (auto at = binding.begin(); at != binding.end();)  // outer levels come first
    at = implied_rate(taken, at->first, binding) <= at->second * (1 + kSameRate) ? binding.erase(at)
                                                                                 : std::next(at);
  return binding;
}

[[noreturn]] void refuse(const Hierarchy& hierarchy, const std::string& what) {
  throw InputError("hierarchy " + hierarchy.name, "has " + what, "use fewer devices, or a graph of its own");
}

}  // namespace

// A link is as fast as the slowest part of its path, and no faster than one stream.
LevelGraph level_graph(const Hierarchy& hierarchy) {
  const long long ranks = devices(hierarchy);
  if (ranks > kMostGraphRanks)
    refuse(hierarchy, fmt::format("{} devices, and a graph at most {}", ranks, kMostGraphRanks));
  LevelGraph graph;
  const LevelRoutes ways(hierarchy);
  for (Rank a = 0; a < ranks; ++a)
    for (Rank b = 0; b < ranks; ++b)
      if (const auto way = ways.route(a, b)) {
        const LinkModel& link = hierarchy.levels[way->level].link;
        double rate = link.stream_gbs > 0 ? link.stream_gbs : rate_of(way->parts.front(), hierarchy);
        for (const LevelPart& part : way->parts) rate = std::min(rate, rate_of(part, hierarchy));
        graph.taken.add(rate, *way);
        graph.lines.push_back({.src = a, .dst = b, .alpha_us = link.latency_us});
        if (std::ssize(graph.lines) > kMostGraphLinks) refuse(hierarchy, "over a million links as a graph");
      }
  graph.binding = binding_parts(graph.taken, hierarchy);
  return graph;
}

namespace {

// Which ports of the innermost level are of a switch that copies and adds. What leaves the unit must not take
// them, since it is not of that switch.
bool is_of_able_switch(const LevelPart& part, const Hierarchy& hierarchy) {
  const LinkModel& link = hierarchy.levels.back().link;
  const bool alone = link.exit || hierarchy.levels.size() == 1;
  return link.switch_gain > 0 && link.shape == LinkModel::Shape::Switch && alone &&
         part.level == std::ssize(hierarchy.levels) - 1 &&
         (part.kind == LevelPart::Kind::PortOut || part.kind == LevelPart::Kind::PortIn);
}

Abilities abilities_of_part(const LevelPart& part, const Hierarchy& hierarchy) {
  if (!is_of_able_switch(part, hierarchy)) return {};
  return {.multicast = part.kind == LevelPart::Kind::PortOut, .reduce = part.kind == LevelPart::Kind::PortIn};
}

// What each such switch delivers; 0 where they only forward.
double delivered_gbs(const LevelGraph& graph, const Hierarchy& hierarchy) {
  const Level& level = hierarchy.levels.back();
  const auto able = [&](const auto& each) { return abilities_of_part(each.first, hierarchy).any(); };
  if (std::ranges::none_of(graph.binding, able)) return 0;
  return gain_of_ports(level.link.switch_gain, level.fan_out) * level.fan_out * level.link.bandwidth_gbs *
         level.link.ports;
}

// A limit over all links within each unit, as flatten() has it of a described switch (topology/switches.h).
void add_deliveries(Topology& graph, const Level& level, int chunks) {
  const int n = level.fan_out;
  for (int u = 0; u < graph.ranks / n; ++u) {
    SharedLimit limit{.name = fmt::format("{} in-network {}", level.name, u), .bandwidth = chunks};
    for (LinkId l = 0; l < std::ssize(graph.links); ++l)
      if (graph.links[l].src / n == u && graph.links[l].dst / n == u) limit.links.push_back(l);
    if (limit.links.size() > 1) graph.limits.push_back(std::move(limit));
  }
}

}  // namespace

Topology graph_of(const Hierarchy& hierarchy) {
  const LevelGraph levels = level_graph(hierarchy);
  Topology graph{
      .name = hierarchy.name, .ranks = static_cast<int>(devices(hierarchy)), .call_us = hierarchy.call_us};
  if (levels.lines.empty()) return graph;
  std::vector<double> rates = levels.taken.rates;
  for (const auto& [part, rate] : levels.binding) rates.push_back(rate);
  std::ranges::sort(rates);
  rates.erase(std::unique(rates.begin(), rates.end()), rates.end());
  // Rates of both links and limits are integer numbers of units, so beta is that of one unit for all.
  double unit = common_unit(rates, hierarchy.name);
  const double delivered = delivered_gbs(levels, hierarchy);
  unit /= chunk_divisor(delivered / unit);
  const auto units = [&](double rate) { return static_cast<int>(std::lround(rate / unit)); };
  for (std::size_t l = 0; l < levels.lines.size(); ++l)
    graph.links.push_back({.src = levels.lines[l].src,
                           .dst = levels.lines[l].dst,
                           .bandwidth = units(levels.taken.rates[l]),
                           .alpha_us = levels.lines[l].alpha_us,
                           .beta_us_per_byte = 1e-3 / unit});
  for (const auto& [part, rate] : levels.binding)
    graph.limits.push_back({.name = limit_name(part, hierarchy),
                            .links = levels.taken.links.at(part),
                            .bandwidth = units(rate),
                            .abilities = abilities_of_part(part, hierarchy)});
  if (delivered > 0) add_deliveries(graph, hierarchy.levels.back(), whole_deliveries(delivered / unit));
  return graph;
}

}  // namespace chorale
