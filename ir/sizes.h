// What a noun takes, and the most that a file may ask for: a short line of text names any number of chunks
// ({"collective": "alltoall", "chunks": 1000000}), so what builds or reads a noun looks at these first, and
// throws InputError before anything is allocated.
#pragma once

#include <string>

#include "ir/block_program.h"
#include "ir/limits.h"
#include "ir/peer_program.h"

namespace chorale {

// In what a program from a file is too large to be looked at, in words: "moves 99999999 chunks in all; 16777216
// are the most". Empty: in nothing. Short texts say large numbers (the count of an instruction, scratch), and a
// referee notes for every instruction how far each block is.
std::string excess(const BlockProgram&);
std::string excess(const PeerProgram&);

}  // namespace chorale
