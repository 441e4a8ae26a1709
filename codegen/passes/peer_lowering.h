// Program -> PeerProgram: messages become stores into the receiver's memory.
//
// Every message has a mailbox, scratch slots of the receiver that no other message uses, and a counter there
// that signals its arrival. The sender stores into the mailbox and raises the counter; the receiver waits for
// it and takes the value. So nothing waits for room, and a rank's block does all that the rank does, step
// after step: it can wait only for what a peer sends in an earlier or the same step, before it waits itself.
// (Kernels let many thread blocks run one such block, each on its slice of every chunk; then no two of them
// ever need each other.)
//
// A value that is received, or added up, and sent on is stored to the peer from the register, and is stored
// locally only if it is used there. Consecutive chunks with the same source and destination are one message,
// unless they belong together so and are too much for a block.
//
// Where receivers load (PeerOptions::pull), the mailbox is the sender's, and the counter the receiver's all
// the same: a sender stores a value once for all that it sends it to in a step, and each of them loads it.
//
// What a switch does (codegen/passes/by_switch.h) has mailboxes in all memories of its team, at one offset,
// and is one load or one store there.
//
// Launches: a mailbox may be stored into when what it had has been read. Receivers signal that to their
// senders, either when a launch ends, for the one after the next (scratch is double then, and a sender may
// run a launch ahead), or when a launch begins.
//
// Targets that hold little in a thread block have several. Chunks whose data never meet in memory can be in
// different ones, and the k-th blocks of all ranks communicate only with each other, so that no two blocks of
// a rank need each other.
#pragma once

#include "codegen/passes/by_switch.h"
#include "codegen/passes/options.h"
#include "ir/peer_program.h"
#include "ir/program.h"
#include "semantics/verified.h"

namespace chorale {

// The options for our kernel, which leaves to switches what they can do. pull: receivers load from their
// senders, where reads of a peer's memory are faster than writes.
PeerOptions peers_for_kernel(bool pull = false);

// The result has been accepted by semantics/verify_peers; none if there is an excess that no number of blocks
// removes.
Verification<PeerProgram> try_to_peers(const Verified<Program>&, const PeerOptions& = {},
                                       const SwitchUses& = {});

}  // namespace chorale
