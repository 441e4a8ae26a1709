// The verifier of block programs: runs them on symbolic sums with queues of a given depth, and searches for
// races. Written from ir/block_program.h alone; it shares nothing with codegen/.
#pragma once

#include <vector>

#include "ir/block_program.h"
#include "ir/collective.h"
#include "ir/error.h"

namespace chorale {

struct BlockVerifierOptions {
  int depth = 1;          // of queues, in messages
  bool in_place = false;  // slots of input and output that share memory (in_place_slot) are one
};

// Returns everything that is wrong, at most `limit` faults; empty if the program performs the collective
// whatever the timing, with queues of that depth. Wrong is: buffers of another size than the
// collective's; a slot, peer, piece or dependency out of range; a connection with two senders or two
// receivers; messages without receivers or of another size; reading what was never written; writing the input
// (out of place); a wait that never ends; two accesses to one slot, one of them a write, that nothing orders
// (block order, dependencies and messages do; the depth of queues does not); an output that is not as
// promised.
//
// A barrier is wrong if a block has it twice or no other block has it; it orders what its blocks do before
// and after it. If there is an epilogue at all, every promised output must have had it exactly once, on the
// complete sum and with the position of its chunk, and nothing may be added to a value that had it; so what
// is sent on is the value after it.
//
// In such programs what arrives where does not depend on timing (one sender and one receiver a queue), so one
// run decides about deadlock; races are found by vector clocks.
std::vector<Fault> violations(const Collective&, const BlockProgram&, const BlockVerifierOptions&,
                              int limit = 10);

}  // namespace chorale
