// Colour refinement is written for linear programs, and a machine is expressed as one: a column per link, a
// row per rank and a row per limit, an entry where they meet. Nothing is minimised; costs, sides of rows and
// coefficients are only names: of bandwidths, tags and kinds of incidence.
#include "bounds/machine_colours.h"

#include <algorithm>
#include <unordered_map>

#include "bounds/colour_refinement.h"

namespace chorale {
namespace {

int renumbered(std::vector<int>& colours) {
  std::unordered_map<int, int> numbers;
  for (int& colour : colours)
    colour = numbers.try_emplace(colour, static_cast<int>(numbers.size())).first->second;
  return static_cast<int>(numbers.size());
}

}  // namespace

// The machine as a program with a column per link and a row per rank and limit: refine_colours refines by
// which links meet which ranks and limits, and how.
MachineColours machine_colours(const Topology& topology, const std::vector<std::int64_t>& tags) {
  enum Meeting { Leaves = 1, Enters, Limited };
  LinearProgram incidences;
  for (std::int64_t tag : tags) incidences.add_row(0, static_cast<double>(tag));
  // Links meet both of their ends, which does not show that those of a limit leave one rank, or enter one.
  const Ports ports = ports_of(topology);
  for (int z = 0; z < static_cast<int>(topology.limits.size()); ++z) {
    const std::vector<LinkId>& links = topology.limits[z].links;
    const bool leaving = ports.possible && !links.empty() && ports.out[links.front()] == z;
    incidences.add_row(leaving ? 2 : 1, topology.limits[z].bandwidth);  // a rank's begins with 0
  }
  for (const Link& link : topology.links) {
    const int column = incidences.add_column(link.bandwidth);
    incidences.entries.push_back({.row = link.src, .column = column, .value = Leaves});
    incidences.entries.push_back({.row = link.dst, .column = column, .value = Enters});
  }
  for (int z = 0; z < static_cast<int>(topology.limits.size()); ++z)
    for (LinkId l : topology.limits[z].links)
      incidences.entries.push_back({.row = topology.ranks + z, .column = l, .value = Limited});
  Colouring colouring = refine_colours(incidences);
  MachineColours colours{.link = std::move(colouring.columns), .links = colouring.column_colours};
  colours.rank.assign(colouring.rows.begin(), colouring.rows.begin() + topology.ranks);
  colours.limit.assign(colouring.rows.begin() + topology.ranks, colouring.rows.end());
  // Ranks and limits were rows of one program, and have their colours from one series of numbers.
  colours.ranks = renumbered(colours.rank);
  colours.limits = renumbered(colours.limit);
  return colours;
}

// Limit after limit takes the first side that fits: a limit over one link may be either, and takes the side
// of the tails. So a limit that comes later may find a side taken that another order would have left free;
// the machine is then bounded by other means (linear programs in place of cuts), which is weaker at worst.

Ports ports_of(const Topology& topology) {
  Ports ports{.out = std::vector<int>(topology.links.size(), -1),
              .in = std::vector<int>(topology.links.size(), -1)};
  for (std::size_t z = 0; z < topology.limits.size(); ++z) {
    const std::vector<LinkId>& links = topology.limits[z].links;
    if (links.empty()) continue;
    const Link& first = topology.links[links.front()];
    const auto free = [&](std::vector<int>& side, auto end) {
      return std::all_of(links.begin(), links.end(),
                         [&](LinkId l) { return side[l] < 0 && end(topology.links[l]) == end(first); });
    };
    std::vector<int>* side = nullptr;
    if (free(ports.out, [](const Link& l) { return l.src; }))
      side = &ports.out;
    else if (free(ports.in, [](const Link& l) { return l.dst; }))
      side = &ports.in;
    if (side == nullptr) return {.possible = false};
    for (LinkId l : links) (*side)[l] = static_cast<int>(z);
  }
  return ports;
}

bool limits_are_ports(const Topology& topology) {
  return ports_of(topology).possible;
}

}  // namespace chorale
