// The verifier of peer programs: runs them on symbolic sums, several launches in a row, and searches for
// races. Written from ir/peer_program.h alone; it shares nothing with codegen/.
//
// Knowledge of actors. An *actor* is a block, or the user of a rank, which acts between two launches of that
// rank. The accesses of a block are counted in phases, which its Syncs and launches end; a clock has for each
// actor how many of its phases have happened before. A block has three of them:
//
//   at the start   what all blocks and the user of its rank knew when the launch began
//   known          what all its threads know: known and learned together at its last Sync, or at the start
//   learned        what single threads have learned from Waits since
//
//   Move     touches slots, in the phase of its block, knowing what is *known*
//   Signal   hands on *known*, if relaxed only what was known *at the start*; to a team, to each of its ranks
//   Wait     adds to *learned* what the Signal of its value handed on (nothing, before the first launch)
//   Sync     ends the phase: *learned* and the phase itself are *known* from now on
//   a launch ends when all blocks of its rank have come to their end; the user knows all that they know,
//            reads all outputs, spoils them and writes new inputs; the next launch starts from there
//
//   packets  the Signal is a relaxed one that hands on how its slots were written too, and what was read for
//            that, chunk by chunk; what a Wait for a packet brings is known to the next Move as well, and to
//            all threads after the next Sync or at the end of the launch: stores and reads, not phases. The
//            Syncs before such a Signal and after such a Wait, which a program has because its counters are
//            no flags, count for nothing
//
//   proxies  a launch ends without them, and the user knows nothing of what they know: they end it later
//
// Two accesses to a slot, one of them a write, are ordered if the later one knows the phase of the earlier
// one. So what a Move has touched the same block may not change without a Sync in between, and what a Wait
// was for may be touched after the Sync that follows. One Move may write what it reads, chunk by chunk.
#pragma once

#include <utility>
#include <vector>

#include "ir/collective.h"
#include "ir/error.h"
#include "ir/peer_program.h"

namespace chorale {

// A packet is a counter whose values come with the data, as flags of packets do (LL): its Signals and Waits
// are not instructions of their own, but part of storing and loading these scratch slots, thread by thread.
struct PeerPacket {
  Rank rank = 0;  // whose counter and scratch
  int counter = 0;
  int first = 0;  // scratch slot
  int count = 1;
  bool operator==(const PeerPacket&) const = default;
};

struct PeerVerifierOptions {
  bool relaxed_orders = false;  // take relaxed Signals for full ones
  std::vector<PeerPacket> packets = {};
  std::vector<std::pair<Rank, int>> proxies = {};  // rank and block
};

// Returns all faults, at most `limit`; empty if the program performs the collective in every launch, whatever
// the timing, for ranks that run ahead of each other as far as its counters let them. Faults are: buffers of
// another size than the collective's; a slot, rank, counter, value or piece out of range; a counter that two
// blocks raise, or not by one from 1 on; a Wait for a value that no Signal gives; writing the input (out of
// place); a Wait that never ends; reading what was never written, or what an earlier launch has left; two
// accesses to one slot, one of them a write, that nothing orders; an output that is not as promised at the
// end of a launch, or is written though nothing is promised there (out of place); a team of fewer than two
// ranks, of one twice or of one that is not there; a slot or counter of a team that differs among its ranks.
//
// As each counter is raised by one block, in its order, what is read in a program without races does not
// depend on timing, and one run decides about deadlock. With double_scratch a scratch slot of even and of odd
// launches are two. In place, slots of input and output that share memory (in_place_slot) are one. There are
// three launches, one more with double_scratch, and as many more as the largest lag.
std::vector<Fault> violations(const Collective&, const PeerProgram&, const PeerVerifierOptions& = {},
                              int limit = 10);

}  // namespace chorale
