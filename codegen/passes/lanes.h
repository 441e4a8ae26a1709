// Lanes of peer programs: one block of each rank, which communicate only with each other. For
// peer_lowering.cpp.
//
// What is closed can be a lane: both ends of each message, and all hops that touch a slot that any of them
// writes. So counters and their values are local to a lane, and its size can be measured by itself
// (PeerOptions::excess).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "codegen/passes/by_switch.h"
#include "codegen/passes/events.h"
#include "codegen/passes/options.h"
#include "ir/data_operation.h"
#include "ir/peer_program.h"
#include "ir/program.h"

namespace chorale {

// The Moves of each rank in a peer program, before waits are known. For peer_lowering.cpp.

// A Move to be, with the messages that it takes and brings: what a message brings lies in its mailbox.
struct Hop {
  DataOperation move = {};       // its operands have ranks
  int turn = 0;                  // the step in which it sends; what it takes in step s - 1 also has s
  std::vector<int> takes = {};   // messages; several of one sum by a switch
  std::vector<int> brings = {};  // messages
  int part = 0;
  bool gone = false;  // what it did, an earlier one does as well
};

using Hops = std::vector<Hop>;  // of one rank, in an order in which they could be done one after the other

// Scratch slots of the receiver that no other message uses; of what a switch does, of its team. Of messages
// that receivers load (pull), slots of the sender, which those of one value in one step have in common.
struct Mailboxes {
  struct Mailbox {
    DataPlace to = {};    // where the sender stores
    DataPlace from = {};  // where the receiver loads
  };
  std::map<int, Mailbox> at = {};  // by message: the first slot
  std::vector<int> scratch = {};   // by rank: all its slots, those of the program too
};
// `scratch` has what the program and the switches take.
Mailboxes mailboxes_of(std::vector<int> scratch, const std::vector<Events>&, const std::map<int, Ends>&,
                       const Switched&, bool pull);

std::vector<Hops> hops_of(const std::vector<Events>&, const Mailboxes&, const Switched&);

// A value that is sent after it was made is stored to the peer by the hop that makes it, if the target has
// such a Move.
void fuse(Hops&, const std::function<bool(const DataOperation&)>& has);

// For targets whose switch only adds up what it then stores at all ranks of the team: a sum that is copied on
// is stored there, and what its rank keeps is copied from there.
void store_sums_to_all(Hops&, const Teams&, const std::function<bool(const DataOperation&)>& has);

// Likewise, a value stored to a peer is not kept locally if no later operation reads it.
void drop_dead_stores(Hops&, const Teams&, const std::function<bool(const DataOperation&)>& has);

// Sets `part`: hops of all ranks whose data meet in a slot that is written are of one part. Returns how many
// parts there are.
int find_parts(std::vector<Hops>&, const Teams&);

// All slots of these operands, each the first of `count`, in the memory of each rank of a team.
std::set<DataPlace> accessed(const std::vector<DataPlace>& firsts, int count, const Teams&);

// State of the lowering of a program, from beginning to end.
struct PeerWork {
  const PeerOptions& options;
  std::map<int, Ends> ends = {};  // by message
  Switched switched = {};
  Mailboxes mail = {};
  std::vector<Hops> hops = {};  // by rank
  PeerProgram frame = {};       // all but its blocks
};

// The lane of the hops of these parts (find_parts), as a program.
PeerProgram lane_of(const PeerWork&, const std::set<int>& parts);

}  // namespace chorale
