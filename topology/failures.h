// Machines of which one thing has failed, by name: "torus:8x8 without link 0-1", "dgx1 without rank 3". A
// cable to a switch is a link, too: the port of a switch, or a NIC.
#pragma once

#include <string>
#include <vector>

#include "ir/machine_changes.h"
#include "ir/topology.h"

namespace chorale {

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
