// The collectives of the MPI library itself, for comparison.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "runtime/rank_plan.h"
#include "runtime/transport.h"

namespace chorale {

// Buffers and a call over MPI_COMM_WORLD, in the shape of RankPlan. Throws InputError for collectives, types
// and sizes that MPI's interface does not have. Requires an MpiSession.
class MpiLibraryPlan {
 public:
  MpiLibraryPlan(const Collective&, Rank, const BlockShape&);

  std::vector<std::byte> input = {};
  std::vector<std::byte> output = {};

  void execute(ReduceOp, Transport&);

 private:
  const Collective& collective_;
  const Rank rank_;
  const BlockShape shape_;
};

}  // namespace chorale
