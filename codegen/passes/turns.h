// Messages of a step that share a port, one after the other.
//
// By the model it is the same whether a port carries them at once or in turn. Ports are not so: several senders that fill one
// receiver's port at once get in each other's way, on a switch with TCP for 6 % of the time (benchmarks/fabric, machine
// star8), and MPI's own algorithms for long messages take turns.
#pragma once

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// The same messages and local work, in more epochs: a step whose messages share limits becomes as many as it has rounds, each
// of which loads every link and limit for one round at most; what is local stays in the last. A step whose messages
// do not come apart so, taken by posting distance (ir/posting_order.h) as they fit, stays as it is. So do programs of machines
// whose switches have abilities. Requires what lower() made of this schedule, in place or with an epilogue, too. The result has passed
// semantics/verify_program.
Program in_turns(const Topology&, const Collective&, const Schedule&, Program);

}  // namespace chorale
