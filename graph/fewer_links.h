// The machine without its slowest links. A search counts steps and rounds, in which the slowest link decides;
// what avoids such links is found on the machine that lacks them, and is a schedule of the whole machine.
#pragma once

#include <vector>

#include "ir/frontier.h"
#include "ir/machine.h"

namespace chorale {

struct FewerLinks {
  Machine machine;                 // bandwidths divided by what is common to them
  std::vector<LinkId> links = {};  // link l of it is links[l] of the whole
  int unit = 1;                    // a chunk per round there: so many on the whole
};

// Returns the machines that lack all links of at most some rate, or of at least some latency, and on which
// each rank reaches as many as before: at most three, first the one that lacks the most links. None where all
// links are alike. Limits keep what is left of their links.
std::vector<FewerLinks> machines_of_fewer_links(const Topology& whole);

// Returns the point of the collective (`one`: with one chunk per block) as the whole machine performs it.
// With `finer` each chunk is cut into as many as a unit has, so that steps have as many rounds there.
Point on_whole(const Point&, const FewerLinks&, const Topology& whole, const Collective& one, bool finer);

}  // namespace chorale
