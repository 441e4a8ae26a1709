// The passes of lower(), in their order. Each takes a whole program and leaves a whole program.
#pragma once

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Gives every value a slot, and every send its two ends. A rank keeps what it has of a chunk in one place:
//
//   its input slot    until something arrives for the chunk
//   its output slot   afterwards, if the rank wants the chunk and no chunk of a lower number there
//   a scratch slot    afterwards, otherwise
//
// Where chunks share an output position, the first of them has the output slot and the others are reduced
// into it at the end, by their numbers: every rank then adds in the same order and gets the same bits.
//
// Sends of a step read the state before it. So what arrives for a value that is being sent, or is to be added
// to one, goes to a scratch slot of its own first, a mailbox, and is copied or reduced from there. The first
// sum of a chunk needs none: the message goes to the output or scratch slot, and the input is added to it.
//
// Every value and mailbox gets a scratch slot that is its own. Requires a schedule without violations.
Program assign_slots(const Topology&, const Collective&, const Schedule&);

// Within a step: sends, then receives, then local instructions, each in the order they had.
Program order_epochs(Program);

// Scratch slots whose contents are needed in different steps become one.
Program reuse_scratch(Program);

}  // namespace chorale
