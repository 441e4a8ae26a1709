// The passes of lower() between a schedule and a program of epochs, in their order. Each takes a whole
// program and leaves a whole program, which is verified when all are done.
#pragma once

#include "ir/collective.h"
#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/program.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Gives every value a slot, and every send its two ends. A rank keeps its value of a chunk in one slot:
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

// For input and output in one memory, as in NCCL: the same steps, where a write of an output slot overwrites
// the input slot at the same address (in_place_slot):
//
//   - a copy of an input onto itself is dropped;
//   - a message that a sum's first operand was received into lands in scratch instead, and is added to the
//     input that lies where the sum is wanted;
//   - an input slot that is read when or after it is overwritten is copied to scratch first, in a step
//     before all others, in which there are no messages.
Program in_place(const Collective&, Program);

// Each operation that completes a sum applies the function to it; what is sent on is the value after it. The
// passes that follow keep it with the operation, whatever that is fused with. A fault where nothing is added.
// Tensors that lie like the outputs require sums that are completed there, which the verifier
// checks.
std::optional<Fault> apply_epilogue(const Topology&, const Collective&, const Epilogue&, Program&);

// Port serialization: messages of a step that share a port go one after the other.
//
// In the cost model a port takes as long for them at once as one after the other. Real ports differ: several
// senders that fill one receiver's port at once slow each other down, on a switch with TCP for 6 % of the
// time (benchmarks/fabric, machine star8), and MPI's own algorithms for long messages do so, too.
//
// The same messages and local work, in more epochs: a step whose messages share limits becomes as many as it
// has rounds, each of which loads every link and limit for one round at most; what is local stays in the
// last. A step whose messages do not come apart so, taken by posting distance (ir/program.h) as they
// fit, stays as it is. So do programs of machines whose switches have abilities. Messages have the numbers
// that assign_slots gave them.
Program serialize_ports(const Topology&, const Schedule&, Program);

}  // namespace chorale
