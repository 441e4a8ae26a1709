// How long a schedule, or a lowered program, takes on a machine: a simulation by events in the alpha-beta
// model, one call (Topology::call_us), all ranks starting together. Transfers share links and limits as in
// cost/fluid_network.h. Nothing else takes time: copies and sums inside a rank, what blocks do between
// transfers.
//
//   schedules       a rank starts all sends of a step, each over the link that it names, and goes on to its
//                   next step when these, and all that it receives in the step, are there. Where all ranks
//                   take the same time this is call + steps * alpha + rounds * beta
//   block programs  the sender's block goes on when the data have left; a message is in the queue from the
//                   start of its transfer until it is received
//   peer programs   a Move loads from all and stores to all other ranks at once, each a transfer; its block
//                   goes on when all loads are there and all stores have left. A Signal to another rank is
//                   there alpha later, and occupies nothing. Waits with a lag are over at once
//
// Programs name ranks, not links. Of parallel links a message takes the one on which it should arrive first,
// given the transfers that are under way.
//
// A switch that adds up or copies itself (NVLS, SHARP) is not known to programs: a Move over it loads from
// each rank, and each message is one. Schedules define which of their sends are one value, and then limits
// carry it once (ir/topology.h).
#pragma once

#include <atomic>
#include <optional>

#include "ir/block_program.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/message_time.h"
#include "ir/peer_program.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// block_bytes: of a block of the collective, cut evenly. Requires a schedule of that machine; a topology
// without switches.
ProgramTime schedule_time(const Schedule&, const Topology&, int chunks_per_block, double block_bytes);

// Requires a program that its verifier accepts (semantics/verify_blocks.h, verify_peers.h), with queues of
// that depth. Throws InputError that names two ranks without a link between which data or signals go, and
// for another number of ranks.
ProgramTime program_time(const BlockProgram&, const Topology&, double block_bytes, int depth);
ProgramTime program_time(const PeerProgram&, const Topology&, double block_bytes);

// Returns the time of a point of a result for that machine: by the formula of cost/cost.h where links are
// alike, simulated where they differ, since the formula would take all of them for the worst.
double point_us(const Topology&, const Point&, double block_bytes);
// Returns nothing where `stop` (null: never) becomes true before the end of the simulation, which soon ends
// then.
std::optional<double> point_us(const Machine&, const Point&, double block_bytes,
                               const std::atomic<bool>* stop);

}  // namespace chorale
