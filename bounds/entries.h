// What comes late must still be spread: behind a cut with several ranks the last rounds carry less than the
// cut is wide.
//
// A chunk that enters a set of ranks t rounds before the end gets to so many of them at most, over links
// between them; to the others it must enter again. So an entry late is worth a part of a chunk only
// (ir/frontier.h, Certificate; docs/bounds.md). Where the rounds of the cut are a whole number, that is a
// round more than the cut says, or two.
#pragma once

#include <optional>
#include <vector>

#include "bounds/demand.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

struct EntryBound {
  int rounds = 0;
  std::vector<int> group = {};  // by rank: 1 inside
  Prices prices = {};
};

// The strongest over the sets before which the prices have a cut: of those who can reach a rank over links
// that cost nothing. None where no set has two ranks that are entered. Requires no abilities and no switches.
std::optional<EntryBound> entry_bound(const Topology&, const std::vector<ChunkClass>&, const Prices&);

}  // namespace chorale
