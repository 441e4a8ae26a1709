// Bounds for few steps from cuts of the machine with time: what has to reach one destination (or leave one
// source) needs the links at the right time.
//
//   minimise sum of r_s, the rounds of each step, such that the demands flow on the time-expanded
//   machine with capacity r_s * bandwidth over a link in step s
//
// is FlowProgram's timed program (flow_lp.h) with one commodity, solved through its cuts (Benders 1962): a
// small program over r alone, to which a maximum flow adds the cut that its answer violates. Every
// intermediate answer is a bound. That is for large machines: the program itself has (ranks + links) * steps
// columns, 98,000 on ring:256.
#pragma once

#include <vector>

#include "bounds/demand.h"

namespace chorale {

// Prices by step that show more than `known` rounds; empty if none were found, and of over 4,096 steps.
// Requires limits_are_ports, and demands that share their destination or their sources, within reach in
// `steps` steps. `work` is the remaining budget, in arcs of flow networks, and is decreased.
std::vector<Prices> timed_cut_prices(const Topology&, const std::vector<Demand>&, int steps, int known,
                                     long long& work);

}  // namespace chorale
