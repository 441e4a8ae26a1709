// What a noun takes, and the most that a file may ask for: a short line of text names any number of chunks
// ({"collective": "alltoall", "chunks": 1000000}), so what builds or reads a noun looks at these first, and
// throws InputError before anything is allocated.
#pragma once

#include <string>
#include <vector>

#include "ir/block_program.h"
#include "ir/collective.h"
#include "ir/peer_program.h"

namespace chorale {

inline constexpr int kMostRanks = 4096;  // of a machine or a program

// About what a collective takes: its chunks, the ranks of the sets that they share, the positions of its buffers. The
// most is an Alltoall of 2,500 ranks, or three chunks a block in an Allgather of 4,096.
inline constexpr double kMostCollectiveBytes = 1 << 29;
double bytes_of(const Collective&);
double bytes_of(double chunks, double set_ranks, double positions);

// Chunks of the input and output buffers of all ranks, in one walk over the chunks.
std::vector<int> input_chunks(const Collective&);
std::vector<int> output_chunks(const Collective&);

// In what a program from a file is too large to be looked at, in words: "moves 99999999 chunks in all; 16777216
// are the most". Empty: in nothing. Short texts say large numbers (the count of an instruction, scratch), and a
// referee notes for every instruction how far each block is.
std::string excess(const BlockProgram&);
std::string excess(const PeerProgram&);

}  // namespace chorale
