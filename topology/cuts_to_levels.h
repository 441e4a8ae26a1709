// Levels of a machine with switches whose graph is not exactly that of levels (topology/levels.h): PCI trees
// with NICs that GPUs share, boards of switches joined by trunks, nodes of several sockets.
//
// Ranks are divided into units of consecutive ranks: a size counts if all pairs inside of a unit are nearer
// to each other than all pairs of different units, by the least latency of a route or by the widest route.
// The units of a size must be alike: between two children of a unit, every pair has the same rate and nearly
// the same latency (the longest counts), and every child the same minimum cuts. Then a port is as fast as the
// cut between a child and the rest of its unit, and the exit of a child is the cut between it and all outside
// of its unit, shared by the neighbours that have no more together. Traffic between two units is thus limited
// by the cut that the machine has there; what several levels share beside that is not in the levels.
#pragma once

#include "ir/hierarchy.h"
#include "ir/topology.h"
#include "topology/levels.h"

namespace chorale {

// For machines with shared limits or abilities: no hierarchy, and no reason. Otherwise, without a hierarchy,
// the two ranks or units that differ, or that there are more than kMostCutRanks ranks which are not all
// alike.
Levels levels_by_cuts(const Topology&);

inline constexpr int kMostCutRanks = 512;

// Names the levels of a machine with labels by what their units are (GPU, PCI switch, socket, node), and sets
// where its nodes, which have equally many ranks, begin.
void name_levels(Hierarchy&, const Topology&, int nodes);

}  // namespace chorale
