// Program -> PeerProgram: messages become stores into the receiver's memory.
//
// Every message has a mailbox, scratch slots of the receiver that no other message uses, and a counter there.
// The sender stores into the mailbox and raises the counter; the receiver waits for it and takes the value. So
// nothing waits for room, and a rank's block does all that the rank does, step after step: it can wait only
// for what a peer sends in an earlier or the same step, before it waits itself. (Kernels let many thread
// blocks run one such block, each on its slice of every chunk; then no two of them ever need each other.)
//
// A value that is received, or added up, and sent on is stored to the peer from the register, and is stored
// at home only if somebody there wants it.
//
// Launches: scratch is double, so a sender may run one launch ahead of a receiver; each receiver tells its
// senders at the end of a launch that its mailboxes are read, and a sender waits for that two launches later.
#pragma once

#include "ir/collective.h"
#include "ir/peer_program.h"
#include "ir/program.h"

namespace chorale {

struct PeerOptions {
  bool fuse = true;   // a value that is received and sent on stays in a register
  bool merge = true;  // consecutive chunks that go the same way are one message
};

// The result has been accepted by semantics/verify_peers.
PeerProgram to_peers(const Collective&, const Program&, const PeerOptions& = {});

}  // namespace chorale
