// Removes switch nodes: what schedules, bounds and encodings work on has ranks only.
#pragma once

#include <vector>

#include "ir/machine.h"
#include "ir/topology.h"

namespace chorale {

// A subset of the paths through switches, for machines that have too many: paths from rank to rank through
// switches alone, each a list of links, of the fewest hops between its ends; ordered by their ends.
enum class RouteChoice {
  None,        // every choice is too large: there are no paths
  All,         // nothing was chosen
  Shortest,    // all of the fewest hops
  OneEach,     // for each two ranks one
  OneHop,      // one for two ranks below one switch, and for two that have the same place below theirs
  OneDigit,    // one for two ranks whose positions differ on one tier of switches alone
  PowersOfTwo  // of these, places that are a power of two apart
};
struct ChosenRoutes {
  RouteChoice choice = RouteChoice::None;
  std::vector<std::vector<LinkId>> routes = {};
};

// The first choice, from `first` on, that has at most 10,000 paths (Shortest) or 150,000 (the others), and
// leaves no rank unreachable. If each pair has one path, paths are spread over equivalent switches by the
// distance of the places of their ends: a shift of places below switches thus also maps paths to paths, and
// on even fabrics all trunks have the same number of paths.
ChosenRoutes chosen_routes(const Topology&, RouteChoice first = RouteChoice::Shortest);

// Every route rank -> switches -> rank without a repeated node or, if these are too many, some of them
// (chosen_routes.h) becomes a direct link; in the second case the result has the machine as its underlay,
// since proofs are to hold for all routes. A link's bandwidth is the least on the route, its alpha the sum,
// its beta the largest. A physical link that several routes use becomes a shared limit with its bandwidth
// over them, which keeps the ends of that link (SharedLimit::cables); limits of the topology carry over to
// all routes that use their links. Limits have the abilities that follow from those of the switches at their
// links' ends; what such a switch delivers in all is one limit more (Topology::switch_gain, of eight ports or
// more; fewer gain less). Routes between the same two ranks stay parallel links. A topology without switches
// is returned as it is. Throws InputError if even the fewest routes are too many, if some are chosen and
// switches multicast or reduce, if a route uses two links of one limit: a chunk would count twice, which a
// limit over links cannot express; or if its alpha is over 1e9 us.
Topology flatten(const Topology&);
// Returns the machine as described, and flattened with its rates as bandwidths (topology/rates.h): what every
// search, baseline and bound is asked about.
Machine machine_of(const Topology& described);

// With these routes for links.
Topology flat_over(const Topology&, const ChosenRoutes&);

// The routes that flatten takes; none of them where they are too many.
ChosenRoutes routes_of(const Topology&);

}  // namespace chorale
