// Which piece of its block each operation of a program moves, for programs whose source does not state it.
#pragma once

#include "ir/block_program.h"
#include "ir/peer_program.h"

namespace chorale {

// Sets `piece` of all operations, of peer programs of all Moves. A slot of inputs or outputs determines it;
// what lies in scratch has it from there, or from the message that brought it, so the program is run once, as
// far as it goes. A program that is wrong gets some pieces too; its verifier refuses it.
void find_pieces(PeerProgram&);
void find_pieces(BlockProgram&);

}  // namespace chorale
