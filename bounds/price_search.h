// Chooses which prices to search: which destination every chunk is charged for.
//
// A chunk with one destination leaves no choice, and the flow program's optimum is the best that prices can
// show. A chunk with several pays for the most expensive only, so the best choice is a search: everything to
// one rank (the cuts), every chunk to its farthest destination; then, iteratively, prices for the choice, the
// most expensive destinations under these prices, as long as the bound grows.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "bounds/demand.h"

namespace chorale {

// Prices that are equal for links of one colour (colour_refinement.h): the concurrent flow problem of a large
// machine with few kinds of links.

// Returns prices for any number of steps; empty where there are too many kinds of links. Requires classes
// with one destination each, sorted.
std::vector<Prices> colour_prices(const Topology&, const std::vector<ChunkClass>&);

// Returns a bound for any number of steps. None without chunks. All destinations must be in reach.
// `members`: the ranks that chunks are for, from 0 on, where others only pass on what they get, as switches
// do; -1: all. Once `stop` is true it is the best so far; so below.
std::optional<PriceBound> price_bound(const Topology&, const std::vector<ChunkClass>&, int members = -1,
                                      const std::atomic<bool>* stop = nullptr);

// Returns a bound for at most `steps` steps, with an element of prices for each; nothing without chunks or
// if the programs are too large. On large machines bounds of no more than `known` rounds are not searched.
// All destinations must be in reach within the steps. `part`: of the work that may be done in all, a second
// or two.
std::optional<PriceBound> timed_price_bound(const Topology&, const std::vector<ChunkClass>&, int steps,
                                            int known, const std::atomic<bool>* stop = nullptr,
                                            double part = 1);

}  // namespace chorale
