// How long a lowered program takes on a machine: a simulation by events in the alpha-beta model, one launch,
// all ranks starting together.
//
// A transfer of b bytes from rank to rank takes the first direct link between them that is free, in the
// order in which transfers became ready. It occupies the link, and its part of the link's shared limits, for
// beta * b / bandwidth, where the bandwidth is the link's, or that of its tightest limit if that is less;
// then its data have left, and alpha later they are there. Nothing else takes time: copies and sums inside a
// rank, what blocks do between transfers.
//
//   programs        a rank starts all sends of an epoch, and goes on to the next one when their data have left and all that
//                   it receives in it is there
//   block programs  the sender's block goes on when the data have left; a message is in the queue from the
//                   start of its transfer until it is received
//   peer programs   a Move loads from all and stores to all other ranks at once, each a transfer; its block
//                   goes on when all loads are there and all stores have left. A Signal to another rank is
//                   there alpha later, and occupies nothing. Waits with a lag are over at once
//
// A switch that adds up or copies itself (NVLS, SHARP) is not known to programs: a Move over it loads from each rank, and each
// message is one. Schedules say which of their sends are one value, and then limits carry it once (ir/topology.h).
#pragma once

#include <string>

#include "ir/block_program.h"
#include "ir/frontier.h"
#include "ir/peer_program.h"
#include "ir/program.h"
#include "ir/topology.h"

namespace chorale {

struct ProgramTime {
  double us = 0;
  double busiest_us = 0;     // how long the busiest link or limit is in use: no order of transfers beats it
  std::string busiest = {};  // "link 0 -> 1", "limit out of 3"; empty if nothing is sent
};

// block_bytes: of a block of the collective, cut evenly. Requires a program that its referee accepts
// (semantics/verify_program.h, verify_blocks.h, verify_peers.h), with queues of that depth; a topology without switches. Throws
// InputError that names two ranks without a link between which data or signals go, and for another number of
// ranks.
ProgramTime program_time(const Program&, const Topology&, double block_bytes);
ProgramTime program_time(const BlockProgram&, const Topology&, double block_bytes, int depth);
ProgramTime program_time(const PeerProgram&, const Topology&, double block_bytes);

// Of a schedule: of the program that it is lowered to, before it is, but for what its switches do.
ProgramTime schedule_time(const Schedule&, const Topology&, int chunks_per_block, double block_bytes);

// Have all links one alpha and one beta?
bool links_alike(const Topology&);

// Of a point of a result for that machine: by the formula of cost/cost.h where links are alike, simulated where they differ,
// since the formula would take all of them for the worst.
double point_us(const Topology&, const Point&, double block_bytes);

}  // namespace chorale
