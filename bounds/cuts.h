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
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// An arc of a machine as a flow network, which has what links and shared limits carry a round:
// as wide as a link, as a shared limit, or, of neither, as anything.
struct NetworkArc {
  int from = 0;
  int to = 0;
  LinkId link = -1;
  int limit = -1;
};

// Nodes are the ranks, and two for each limit, with the limit as the arc between them. A link under limits
// passes all of them, the nearest to its source first.
//
// What sends carry within bandwidths and limits is a flow here. A flow is such sends if limits are ports
// (colour_refinement.h), or come from switches, with a link for every route through them: what enters a limit
// from one link may leave as another.
struct CapacityNetwork {
  int nodes = 0;
  std::vector<NetworkArc> arcs = {};
};

CapacityNetwork capacity_network(const Topology&);

// The tightest cut over all destinations, or those that are given: prices 1 of the cut's links and limits.
// Nothing without chunks. A bound whatever the limits are; where they are neither ports nor come from
// switches there may be a tighter one (CapacityNetwork). Requires that all chunks can reach their
// destinations. Once `stop` is true, the tightest of the cuts examined.
std::optional<PriceBound> tightest_cut(const Topology&, const std::vector<ChunkClass>&,
                                       const std::atomic<bool>* stop = nullptr,
                                       const std::vector<Rank>& destinations = {});

// Returns, for chunks with one destination each, the tightest of the cuts between two halves of the values
// of a digit of the ranks' numbers (rows of a mesh, columns), in one direction; prices 1 of its links.
// Nothing with shared limits, or if no chunk crosses. For machines for which flow programs are too large.
std::optional<Prices> tightest_half_cut(const Topology&, const std::vector<ChunkClass>&,
                                        const std::atomic<bool>* stop = nullptr);

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
