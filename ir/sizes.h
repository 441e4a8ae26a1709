// The size of a noun, and the most that a file may ask for. A short line of text names any number of chunks
// ({"collective": "alltoall", "chunks": 1000000}), so the builders and readers of a noun check these limits
// first, and throw InputError before anything is allocated.
#pragma once

#include <string>

#include "ir/block_program.h"
#include "ir/collective.h"
#include "ir/limits.h"
#include "ir/peer_program.h"

namespace chorale {

// Says in what a program from a file is too large to be read, in words: "moves 99999999 chunks in all;
// 16777216 are the most". Empty: it is not. Short texts contain large numbers (the count of an instruction,
// scratch), and a verifier records for every instruction the progress of each block.
std::string excess(const BlockProgram&);
std::string excess(const PeerProgram&);
// Of the collective of that kind, or the custom one itself, with blocks of so many chunks (of_kind()).
std::string excess(const Collective& asked, CollectiveKind, int chunks);

}  // namespace chorale
