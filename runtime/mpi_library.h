// The collectives of the MPI library itself, for comparison.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ir/collective.h"
#include "runtime/rank_buffers.h"
#include "runtime/rank_plan.h"
#include "runtime/transport.h"

namespace chorale {

// Buffers and a call over MPI_COMM_WORLD, in the shape of RankPlan. Throws InputError for collectives, types
// and sizes that MPI's interface does not have; halves are among them, so how they are accumulated is no
// question here. Requires an MpiSession.
class MpiLibraryPlan {
 public:
  // In place the buffers share memory as MPI_IN_PLACE has it: a ReduceScatter's output is the first block of
  // the input, unlike NCCL's.
  MpiLibraryPlan(const Collective&, Rank, const BlockShape&, bool in_place = false);

  std::span<std::byte> input() const { return buffers_.input; }
  std::span<std::byte> output() const { return buffers_.output; }
  bool in_place() const { return in_place_; }

  void execute(ReduceOp, Transport&);

 private:
  const Collective& collective_;
  const Rank rank_;
  const BlockShape shape_;
  const bool in_place_;
  RankBuffers buffers_ = {};
};

}  // namespace chorale
