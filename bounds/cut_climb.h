// Searches for sets of ranks that many chunks must enter, relative to the capacity of the links into them: a
// chunk that starts outside, and is wanted by some rank inside, enters once. cuts.h has the best set before
// one rank, which is the best of all if every rank needs all that it lacks; where some ranks need a chunk,
// others another one, the best is a set before several.
#pragma once

#include <atomic>
#include <optional>

#include "bounds/demand.h"

namespace chorale {

// Prices on the links into the best set that was found, and a lower bound on what is owed: entries times the
// price of the cheapest of these links. Nothing if no chunk must enter a set. A bound whatever the limits
// are. The work is limited by a count; once `stop` is true, the best of the sets examined.
std::optional<PriceBound> widest_wanted_cut(const Topology&, const std::vector<ChunkClass>&,
                                            const std::atomic<bool>* stop = nullptr);

// Returns the same of sums: a chunk enters where a rank inside needs it and a rank outside contributes to it.
std::optional<PriceBound> widest_summed_cut(const Topology&, const std::vector<ChunkClass>&,
                                            const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
