// Some ways through switches, where all are too many to be taken.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// Ways from rank to rank through switches alone, each a list of links, of the fewest hops between its ends;
// by their ends.
enum class WayChoice {
  None,        // whatever is chosen is too much: there are no ways
  All,         // nothing was chosen (topology/switches.h)
  Shortest,    // all of the fewest hops
  OneEach,     // for each two ranks one
  OneHop,      // one for two ranks below one switch, and for two that have the same place below theirs
  OneDigit,    // one for two ranks whose places differ on one tier of switches alone
  PowersOfTwo  // of these, places that are a power of two apart
};
struct ChosenWays {
  WayChoice choice = WayChoice::None;
  std::vector<std::vector<LinkId>> ways = {};
};

// The first, from `first` on, that is at most so many, 10,000 of Shortest and 150,000 of the others, and
// leaves nobody out of reach. Where each two have one way, ways are spread over switches that are alike by
// how far apart the places of their ends are: so what turns places below switches turns ways, and on even
// fabrics every trunk has as many as the others.
ChosenWays chosen_ways(const Topology&, WayChoice first = WayChoice::Shortest);

}  // namespace chorale
