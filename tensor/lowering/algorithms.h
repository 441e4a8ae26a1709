// The algorithms that the communications of a workload need.
#pragma once

#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/verified.h"
#include "tensor/language/workload.h"

namespace chorale {

// How a communication of the workload is done: a lowered program that performs the collective.
struct WorkloadAlgorithm {
  std::string operation = {};  // name, in the workload
  Verified<Program> program;
};

// The collective that a communication is, and the inverse; Send and AllToAllV have none. Requires an argument
// that has a counterpart.
CollectiveKind collective_of(OperationKind);
OperationKind operation_of(CollectiveKind);

// The collective that the algorithm of a communication has to perform, with one chunk per block: AllReduce
// allreduce, ReduceScatter reducescatter, AllGather allgather, Reduce reduce and Broadcast broadcast (with
// their root), AllToAll alltoall; among the ranks of its scope. Send and AllToAllV need none, and have no
// row.
struct NeededCollective {
  std::string operation = {};
  Collective collective = {};
  Scope scope = Scope::World;
};
std::vector<NeededCollective> needed_collectives(const Workload&);

}  // namespace chorale
