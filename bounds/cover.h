// What it costs to charge some links: the cheapest prices under which each of them weighs something.
#pragma once

#include <vector>

#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// Returns those links that go between groups (by rank).
std::vector<bool> crossing_links(const Topology&, const std::vector<int>& group);

// Prices whose sum of bandwidth * price is the least for the least weight of these links, its own price and
// those of the limits over it, which is 1 or, where the best are fractions, more.
Prices cheapest_cover(const Topology&, const std::vector<bool>& links);

// Returns what the links carry in a round at least, by link: shared limits are divided evenly among those of
// these links that are under them (max-min fair, by bandwidth). Other links have 0. No more than a cover
// pays, and without limits as much.
std::vector<double> fair_shares(const Topology&, std::vector<bool> links);

}  // namespace chorale
