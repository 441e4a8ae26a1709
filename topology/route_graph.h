// A machine with switches as a graph: routes between two ranks, which lead through switches only, minimum
// cuts, and symmetries. For levels (topology/cuts_to_levels.h).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "graph/max_flow.h"
#include "graph/paths.h"
#include "ir/topology.h"

namespace chorale {

inline constexpr double kNoRoute = std::numeric_limits<double>::infinity();
inline constexpr double kFlowUnits = 1e6;  // of flow in a GB/s

inline bool nearly(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b));
}

inline double gbs_of(const Link& link) {
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

}  // namespace chorale
