// Lanes of peer programs: one block of each rank, which communicate only with each other. For
// peer_lowering.cpp.
//
// What is closed can be a lane: both ends of each message, and all hops that touch a slot that any of them
// writes. So counters and their values are local to a lane, and its size can be measured by itself
// (PeerOptions::excess).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "codegen/passes/events.h"
#include "codegen/passes/hops.h"
#include "codegen/passes/peer_options.h"
#include "ir/peer_program.h"

namespace chorale {

// State of the lowering of a program, from beginning to end.
struct PeerWork {
  const PeerOptions& options;
  std::map<int, Ends> ends = {};  // by message
  Mailboxes mail = {};
  std::vector<Hops> hops = {};  // by rank
  PeerProgram frame = {};       // all but its blocks
};

// The lane of the hops of these parts (find_parts), as a program.
PeerProgram lane_of(const PeerWork&, const std::set<int>& parts);

}  // namespace chorale
