// Program -> Program for input and output in one memory, as NCCL's callers have it.
#pragma once

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/topology.h"

namespace chorale {

// The same steps where a write of an output slot overwrites the input slot in its place (in_place_slot):
//
//   - a copy of an input onto its own place is dropped;
//   - a message that a sum's first operand was received into lands in scratch instead, and is added to the
//     input that lies where the sum is wanted;
//   - an input slot that is read when or after its place is written is copied to scratch first, in a step
//     before all others, in which there are no messages.
//
// The result has passed semantics/verify_program. Requires a program of lower().
Program in_place(const Topology&, const Collective&, const Program&);

}  // namespace chorale
