// Collectives of tensor programs have names and kinds of their own: Send and AllToAllV are among them, Gather
// and Scatter are not. A table translates where both have one.
#include "tensor/lowering/algorithms.h"

#include <algorithm>
#include <array>
#include <utility>

namespace chorale {
namespace {

constexpr std::array<std::pair<OperationKind, CollectiveKind>, 6> kCollectives = {{
    {OperationKind::AllReduce, CollectiveKind::AllReduce},
    {OperationKind::ReduceScatter, CollectiveKind::ReduceScatter},
    {OperationKind::AllGather, CollectiveKind::Allgather},
    {OperationKind::Reduce, CollectiveKind::Reduce},
    {OperationKind::Broadcast, CollectiveKind::Broadcast},
    {OperationKind::AllToAll, CollectiveKind::Alltoall},
}};

}  // namespace

// Requires one of the table: has_algorithm() says so of an operation.
CollectiveKind collective_of(OperationKind kind) {
  return std::ranges::find(kCollectives, kind, &std::pair<OperationKind, CollectiveKind>::first)->second;
}
OperationKind operation_of(CollectiveKind kind) {
  return std::ranges::find(kCollectives, kind, &std::pair<OperationKind, CollectiveKind>::second)->first;
}

// AllReduces of scalars that a kernel joins are one message, so only the first needs an algorithm. One chunk
// per block: the algorithm may have any number.
std::vector<NeededCollective> needed_collectives(const Workload& workload) {
  std::vector<NeededCollective> needed;
  std::string kernel;  // of scalars that are summed in one message, which the first of them stands for
  for (const Operation& op : workload.operations) {
    if (!has_algorithm(op.kind)) continue;
    if (op.kind == OperationKind::AllReduce && !op.kernel.empty() && op.kernel == kernel) continue;
    kernel = op.kernel;
    const TensorType& type = operation(workload, op.operands[0]).type;
    const int root = op.kind == OperationKind::Reduce      ? op.type.layout.root
                     : op.kind == OperationKind::Broadcast ? type.layout.root
                                                           : 0;
    const Scope scope = scope_of(workload, op);
    needed.push_back(
        {op.name, make_collective(collective_of(op.kind), ranks_in(workload, scope), 1, root), scope});
  }
  return needed;
}

}  // namespace chorale
