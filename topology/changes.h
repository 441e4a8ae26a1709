// A machine after failures, or with switches that can do more.
#pragma once

#include "ir/machine_changes.h"
#include "ir/topology.h"

namespace chorale {

// The machine without those links and ranks, and with slower ones. Names are those of the machine as it was
// given, with its switches. Ranks behind one that is gone move up by one; shared limits hold over the links
// that are left. Where a slower link is no whole number of chunks a round, all bandwidths are multiplied and
// the unit is as much smaller. Abilities go to all switches; where a machine has its switches as shared
// limits (ir/topology.h), those over links from one rank multicast and those over links to one rank reduce.
// The name says what was changed. Throws InputError for a link or rank that is not there, a part that is not
// between 0 and 1, where no rank is left, and for abilities where there is no switch.
Topology changed(const Topology&, const MachineChanges&);

}  // namespace chorale
