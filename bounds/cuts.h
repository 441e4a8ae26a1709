// Bounds from cuts: all chunks that start in a set of ranks and are wanted by a rank outside have to leave
// it.
//
// The tightest cut before rank v is found by Newton's method for fractions (Dinkelbach 1967) over maximum
// flows: guess a time T, send everything to v with capacities T * bandwidth; a minimum cut that is too small
// is the next guess. It starts with the tightest in-degree and keeps T from one v to the next, so that nearly
// all v cost one flow. For Allgather on links without shared limits the result is the optimum (Zhao et al.:
// ForestColl, 2024, from Edmonds' tree packing).
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "bounds/demand.h"

namespace chorale {

// The tightest cut over all destinations, or those that are given: prices 1 of the cut's links and limits.
// Nothing without chunks. A bound whatever the limits are; where they are neither ports nor come from
// switches there may be a tighter one (bounds/capacity_network.h). Requires that all chunks can reach their
// destinations. Once `stop` is true, the tightest of the cuts examined.
std::optional<PriceBound> tightest_cut(const Topology&, const std::vector<ChunkClass>&,
                                       const std::atomic<bool>* stop = nullptr,
                                       const std::vector<Rank>& destinations = {});

// For chunks with one destination each: the tightest of the cuts between two halves of the values of a digit
// of the ranks' numbers (rows of a mesh, columns), in one direction; prices 1 of its links. Nothing with
// shared limits, or if no chunk crosses. For machines for which flow programs are too large.
std::optional<Prices> tightest_half_cut(const Topology&, const std::vector<ChunkClass>&,
                                        const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
