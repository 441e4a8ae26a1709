// The order of a job's nodes for the hosts that it was given: which host is at which position of the mesh.
#pragma once

#include <string>

#include "ir/node_order.h"

namespace chorale {

// The hosts of a list as Slurm has it ("n[1-3,7]"; "": all of the file) on the switches of Slurm's
// topology.conf, or of the output of 'scontrol show topology'. Throws InputError for
// hosts that the file lacks.
Allocation allocation(const std::string& topology_file, const std::string& hosts = "");

// The order that takes the least time, with a bound on all orders (placement/node_order.h).
NodeOrder order(const Allocation&, const OrderQuestion&);

}  // namespace chorale
