// The passes of relax(), in their order, after those of events.h: from a list of events per rank to its
// blocks.
#pragma once

#include <vector>

#include "codegen/passes/events.h"
#include "codegen/passes/relax_options.h"
#include "ir/block_program.h"
#include "ir/collective.h"

namespace chorale {

// Each message gets one of `channels` channels. Those that carry one value along stay together, so that it
// can stay in a register; each such chain goes where its fullest connection is emptiest.
void spread(std::vector<Events>&, int channels);

// Orders the sends of a step as they are received, which queues require. Sends of a step read what was before
// it, so their order is free.
void match_order(std::vector<Events>&);

// The blocks of a rank, each with at most one peer to send to and one to receive from, with all dependencies
// between them; a value that is received and sent on stays in a register. `paired`: a block for two peers
// between which values are handed on, where there are such; else one for each peer and direction.
std::vector<Block> blocks_of(const Collective&, Rank, Events, const RelaxOptions&, bool paired);

// Drops dependencies that follow from others, from the order in blocks and from messages.
void drop_implied_dependencies(BlockProgram&);

}  // namespace chorale
