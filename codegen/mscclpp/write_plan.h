// Peer programs as execution plans of MSCCL++: the inverse of read_plan.h, which has the table of
// equivalents.
//
// A plan can express Moves that have an operation (file.h), Syncs, and Signals and Waits between ranks. Its
// channels count for themselves: the i-th signal of a launch is the i-th that is waited for. So where a
// program waits for a value that is further on than the last one, a plan waits several times, and where it
// waits for less, not at all. The k-th counter that a rank raises at another and the k-th that is raised back
// are the two ends of a channel.
//
// Ranks of different nodes share no memory. Their channels are port channels: a proxy puts what the block
// asks for and signals after it, in that order, and it reads the source later. So a plan awaits it (flush)
// before the block stores over what a put reads, and before the launch ends, since its user may do so then.
#pragma once

#include <optional>
#include <vector>

#include "codegen/mscclpp/file.h"
#include "ir/error.h"
#include "ir/peer_program.h"

namespace chorale::mscclpp {

struct WrittenPlan {
  std::vector<Gpu> gpus = {};
  std::optional<Fault> fault = {};  // Limit: what a plan cannot express, in which instruction
};

// Requires a program that the verifier accepts (semantics/verify_peers.h), or a lane of one
// (peer_lowering.h). `nodes`: the node of each rank; empty: all are of one.
WrittenPlan plan_of(const PeerProgram&, const std::vector<int>& nodes = {});

// The operation of a Move that a rank does; null if there is none. A copy that is also sent on is a `res` of
// one source: the executor adds all sources after the first (handleReduceSend), which may be none. A proxy
// does puts alone.
const Shape* shape_for(Rank, const DataOperation&, const std::vector<int>& nodes = {});

}  // namespace chorale::mscclpp
