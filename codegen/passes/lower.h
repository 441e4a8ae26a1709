// Schedule -> Program: what each rank does, in which buffers.
#pragma once

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// The result has passed semantics/verify_program. Where the schedule does not perform the collective (it may
// come from a file) this throws InputError, also where a custom collective gives a chunk positions that make
// it another piece of its block in the input than in the output. Messages are numbered in the order of the
// schedule's sends, so epoch s of the program is step s. Without reusing scratch slots, chunks that have
// nothing to do with each other share none: what runs them side by side wants that.
Program lower(const Topology&, const Collective&, const Schedule&, bool reuse_scratch_slots = true);

}  // namespace chorale
