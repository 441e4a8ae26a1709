// The verifier of programs of epochs: counts, on the lowered form, how often each input is in each slot of
// each rank, and compares with the collective. Written from ir/program.h alone; it shares nothing with
// codegen/, and with the other verifiers of programs semantics/symbolic_machine.h.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/error.h"
#include "ir/program.h"
#include "ir/topology.h"
#include "semantics/symbolic_machine.h"

namespace chorale {

// Returns everything that is wrong, at most `limit` faults; empty if the program performs the collective
// on this topology, whatever the timing. Wrong is: buffers of another size than the collective's; a slot,
// peer, step or piece out of range; instructions out of order; a message without exactly one send and one
// receive that agree on ranks, step and piece; a message where no link is; reading what was never written;
// writing the input; receiving into a slot that is sent, or received into, in the same epoch; two thread
// blocks at one slot in an epoch, unless both read; an output slot that does not hold what the collective
// promises, or is written though nothing is promised. In place (Program::in_place) slots of input and output
// that share memory are one, a local instruction between two such slots is wrong, and outputs that nothing is
// promised for may hold anything.
std::vector<Fault> violations(const Topology&, const Collective&, const Program&, int limit = 10);

// Returns which instructions complete sums of several inputs, by adding, in the order in which they do.
// Requires a program that is right.
std::vector<Completion> completions(const Topology&, const Collective&, const Program&);

}  // namespace chorale
