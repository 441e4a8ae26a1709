// Prices that are equal for links of one colour (machine_colours.h): the concurrent flow problem of a large
// machine with few kinds of links.
#pragma once

#include <vector>

#include "bounds/demand.h"

namespace chorale {

// For any number of steps; empty where there are too many kinds of links. Requires classes with one
// destination each, sorted.
std::vector<Prices> colour_prices(const Topology&, const std::vector<ChunkClass>&);

}  // namespace chorale
