// Peer programs as execution plans of MSCCL++: the inverse of read_plan.h, which has the table of what says
// what.
//
// A plan says Moves that have an operation (file.h), Syncs, and Signals and Waits between ranks. Its channels
// count for themselves: the i-th signal of a launch is the i-th that is waited for. So where a program waits
// for a value that is further on than the last one, a plan waits several times, and where it waits for less,
// not at all. The k-th counter that a rank raises at another and the k-th that is raised back are the two
// ends of a channel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/mscclpp/file.h"
#include "ir/fault.h"
#include "ir/peer_program.h"

namespace chorale::mscclpp {

struct WrittenPlan {
  std::vector<Gpu> gpus = {};
  std::optional<Fault> fault = {};  // Limit: what a plan cannot say, in which instruction
};

// Requires a program that the referee accepts (semantics/verify_peers.h), or a lane of one (peer_lowering.h).
WrittenPlan plan_of(const PeerProgram&);

// The operation of a Move that a rank does; null: there is none. What is copied and sent on is a `res` of one
// source: the executor adds up what follows the first one (handleReduceSend), be it nothing.
const Shape* shape_for(Rank, const DataOperation&);

}  // namespace chorale::mscclpp
