// A subset of the paths through switches, for machines that have too many.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// Paths from rank to rank through switches alone, each a list of links, of the fewest hops between its ends;
// ordered by their ends.
enum class RouteChoice {
  None,        // every choice is too large: there are no paths
  All,         // nothing was chosen (topology/switches.h)
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

}  // namespace chorale
