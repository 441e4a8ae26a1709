// Which piece each Move of a peer program moves, where whoever made the program does not know.
#pragma once

#include "ir/peer_program.h"

namespace chorale {

// Sets `piece` of all Moves. A Move of inputs or outputs says so by its slot; of one from scratch to scratch it
// depends on when it comes: so the program is run once, as far as it goes. A program that is wrong gets some
// pieces too, for its referee to judge.
void find_pieces(PeerProgram&);

}  // namespace chorale
