// The order of a job's nodes for the hosts that it was given: which host is at which position of the mesh.
#pragma once

#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/node_order.h"
#include "ir/report.h"

namespace chorale {

// The hosts of a list as Slurm has it ("n[1-3,7]"; "": all of the file) on the switches of Slurm's
// topology.conf, or of the output of 'scontrol show topology'. Throws InputError for
// hosts that the file lacks.
Allocation allocation(const std::string& topology_file, const std::string& hosts = "");

// The order that takes the least time, with a bound on all orders (placement/node_order.h).
NodeOrder order(const Allocation&, const OrderQuestion&);

// Nodes by switch, the time of each communication beside what the rates of nodes alone allow, and other
// orders (as given, alphabetical, by switch) for comparison; whether the order is proven.
Report report_of(const NodeOrder&);

// "rankfile" for mpirun --rankfile, "slurm_hostfile" for SLURM_HOSTFILE and srun --distribution=arbitrary (a
// line per rank), "hosts" (a line per node, for launchers that number nodes in that order), "mesh.json" (the
// axes, and the ranks with their hosts), "torch_mesh.py" (mesh(): a DeviceMesh of that order).
std::vector<NamedText> emit_order(const NodeOrder&);

}  // namespace chorale
