// A machine after failures, or with switches that can do more.
#pragma once

#include <string>
#include <vector>

#include "ir/machine_changes.h"
#include "ir/topology.h"

namespace chorale {

// The machine without those links and ranks, and with slower ones. Names are those of the machine as it was
// given, with its switches; where its links are chosen routes (Topology::underlay), of the machine below, and
// routes are to be chosen again. Ranks after a removed one move up by one; shared limits hold over the
// remaining links. If the bandwidth of a slower link is not an integer number of chunks per round, all
// bandwidths are multiplied and the unit is reduced accordingly. Abilities apply to all switches; if a
// machine has its switches as shared limits (ir/topology.h), limits over links from one rank multicast
// and limits over links to one rank reduce. The name describes the changes. Throws InputError for a link
// or rank that does not exist, for a part that is not between 0 and 1, if no rank is left, and for
// abilities if there is no switch.
Topology changed(const Topology&, const MachineChanges&);

// The ranks of a machine that the changes leave out, each once, rising: by number or by name ("gpu5": all
// that have it). Throws InputError for a name that no rank has.
std::vector<Rank> ranks_gone(const Topology&, const MachineChanges&);

// Machines of which one thing has failed, by name: "torus:8x8 without link 0-1", "dgx1 without rank 3". A
// cable to a switch is a link, too: the port of a switch, or a NIC.

// What fails, as such a name ends: of a machine as it is described, with its switches, each link in both of
// its directions ("link 0-1", "link 3-switch0"), and each rank. Links of one direction are "link 0>1".
std::vector<std::string> single_failures(const Topology& described);

// "torus:8x8 without link 0-1": "torus:8x8", and what has failed of it. Other names are returned as they are.
// Throws InputError for a failure that is neither a link nor a rank.
struct NamedChanges {
  std::string machine = {};
  std::string failure = {};  // "link 0-1"; "": none
  MachineChanges changes = {};
};
NamedChanges split_failure(const std::string& spec_or_file);

}  // namespace chorale
