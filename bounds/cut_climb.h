// Looks for sets of ranks that many chunks must enter, for what the links into them carry: a chunk that
// starts outside, and is wanted by some rank inside, enters once. cuts.h has the best set before one rank,
// which is the best of all where everyone wants what it has not; where some ranks want a chunk, others
// another one, it is a set before several.
#pragma once

#include <atomic>
#include <optional>

#include "bounds/demand.h"

namespace chorale {

// Prices that charge what leads into the best set that was found, and what is owed at least: entries times
// what the cheapest of these links costs. None where no chunk must enter one. A bound whatever the limits
// are. Work is counted; once `stop` is true: of those looked at.
std::optional<PriceBound> widest_wanted_cut(const Topology&, const std::vector<ChunkClass>&,
                                            const std::atomic<bool>* stop = nullptr);

// The same of sums: a chunk enters where a rank inside wants it and a rank outside contributes to it.
std::optional<PriceBound> widest_summed_cut(const Topology&, const std::vector<ChunkClass>&,
                                            const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
