// Where limits are ports, a minimum cut. Over any limits: a linear program, whose best prices may be
// fractions (three limits, each two of which share a link: a half on each), so that a link costs 2 or more
// once they are integers (docs/bounds.md has m for that).
#include "bounds/cover.h"

#include <algorithm>

#include "bounds/clp.h"
#include "bounds/colour_refinement.h"
#include "bounds/integer_prices.h"
#include "bounds/machine_colours.h"
#include "graph/max_flow.h"

namespace chorale {
namespace {

constexpr int kCoverIterations = 50'000;  // of the simplex method

// A minimum vertex cover, with the links as edges between out-ports and in-ports: again a minimum cut. A link
// has three that can pay for it, its out-port, itself and its in-port, which lie on its path from the source
// to the sink one after the other; links share ports, and a cut pays for a port once. Cuts consist of entire
// arcs, so prices are 0 or 1.
Prices cover_of_ports(const Topology& topology, const std::vector<bool>& links) {
  const Ports ports = ports_of(topology);
  const int limits = static_cast<int>(topology.limits.size());
  const int source = limits, sink = limits + 1;
  MaxFlow flow(limits + 2);
  std::vector<int> port(limits, -1), arc(topology.links.size(), -1);
  for (std::size_t l = 0; l < topology.links.size(); ++l) {
    if (!links[l]) continue;
    const Link& link = topology.links[l];
    const int out = ports.out[l], in = ports.in[l];
    if (out >= 0 && port[out] < 0) port[out] = flow.add_arc(source, out, topology.limits[out].bandwidth);
    if (in >= 0 && port[in] < 0) port[in] = flow.add_arc(in, sink, topology.limits[in].bandwidth);
    arc[l] = flow.add_arc(out < 0 ? source : out, in < 0 ? sink : in, link.bandwidth);
  }
  flow.run(source, sink);
  flow.find_cut();
  Prices prices{.links = std::vector<int>(topology.links.size(), 0), .limits = std::vector<int>(limits, 0)};
  for (std::size_t l = 0; l < arc.size(); ++l)
    if (arc[l] >= 0 && flow.in_cut(arc[l])) prices.links[l] = 1;
  for (int z = 0; z < limits; ++z)
    if (port[z] >= 0 && flow.in_cut(port[z])) prices.limits[z] = 1;
  return prices;
}

Prices cover_by_program(const Topology& topology, const std::vector<bool>& links) {
  LinearProgram program;
  for (const Link& link : topology.links) program.add_column(link.bandwidth);
  for (const SharedLimit& limit : topology.limits) program.add_column(limit.bandwidth);
  const int count = static_cast<int>(links.size());
  std::vector<int> row(links.size(), -1);
  for (int l = 0; l < count; ++l) {
    if (!links[l]) continue;
    row[l] = program.add_row(1, kNoLimit);
    program.entries.push_back({.row = row[l], .column = l, .value = 1});
  }
  for (int z = 0; z < static_cast<int>(topology.limits.size()); ++z)
    for (const LinkId l : topology.limits[z].links)
      if (row[l] >= 0) program.entries.push_back({.row = row[l], .column = count + z, .value = 1});
  const LpSolution solution = solve_by_colours(program, refine_colours(program), kCoverIterations);
  std::vector<Prices> prices = integer_prices({solution.values}, count);
  if (!prices.empty()) return std::move(prices.front());
  return {.links = std::vector<int>(links.size(), 1), .limits = std::vector<int>(topology.limits.size(), 0)};
}

}  // namespace

std::vector<bool> crossing_links(const Topology& topology, const std::vector<int>& group) {
  std::vector<bool> crosses(topology.links.size());
  for (std::size_t l = 0; l < crosses.size(); ++l)
    crosses[l] = group[topology.links[l].src] != group[topology.links[l].dst];
  return crosses;
}

Prices cheapest_cover(const Topology& topology, const std::vector<bool>& links) {
  return limits_are_ports(topology) ? cover_of_ports(topology, links) : cover_by_program(topology, links);
}

std::vector<double> fair_shares(const Topology& topology, std::vector<bool> grows) {
  std::vector<double> shares(topology.links.size(), 0);
  for (std::size_t l = 0; l < shares.size(); ++l)
    if (grows[l]) shares[l] = topology.links[l].bandwidth;
  // All grow in proportion to their bandwidths until a limit over them is full, which stops its links.
  std::vector<bool> open(topology.limits.size(), true);
  for (;;) {
    double least = 1;
    std::vector<double> until(topology.limits.size(), 2);
    for (std::size_t z = 0; z < open.size(); ++z) {
      if (!open[z]) continue;
      double left = topology.limits[z].bandwidth, growing = 0;
      for (const LinkId l : topology.limits[z].links)
        (grows[l] ? growing : left) += grows[l] ? topology.links[l].bandwidth : -shares[l];
      if (growing <= 0) {
        open[z] = false;
        continue;
      }
      until[z] = std::max(0.0, left) / growing;
      least = std::min(least, until[z]);
    }
    if (least >= 1) return shares;
    for (std::size_t z = 0; z < open.size(); ++z) {
      if (!open[z] || until[z] > least * (1 + 1e-12)) continue;
      open[z] = false;
      for (const LinkId l : topology.limits[z].links)
        if (grows[l]) {
          grows[l] = false;
          shares[l] = topology.links[l].bandwidth * least;
        }
    }
  }
}

}  // namespace chorale
