// A packing of cuts in time: what has to reach several ranks, or come from several, in few steps pays for all
// of them at once.
//
//   minimise sum of r_s, the rounds of each step, over x(l, s), the sends of a chunk over link l in step s,
//   such that the x over a link or shared limit are at most r_s * bandwidth, and from each source to each
//   destination a chunk flows on the time-expanded machine with capacities x
//
// is the linear relaxation of a Steiner tree in time (Wong 1984), solved through its cuts: each is entered
// once at least. Prices of one destination (flow_lp.h) let what goes to another share its sends; here two
// sends over a limit of one NIC pay twice, and the rounds of a step are the same for all.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// Returns a Cuts certificate for at most `steps` steps, of chunks of one class; nothing if none is found
// within `work`, in arcs of flow networks, and entries of linear programs times iterations. `sum`: every
// contribution goes to every destination. `group`: [rank] -> its group in a partition whose crossings pay,
// too; may be empty. Requires a machine without switches and abilities, and all destinations within reach in
// `steps` steps.
std::optional<Certificate> pack_cuts(const Topology&, const ChunkClass&, bool sum,
                                     const std::vector<int>& group, int steps, long long work,
                                     const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
