// The most that a file may ask for, and what that is counted in.
#pragma once

namespace chorale {

inline constexpr int kMostRanks = 4096;  // of a machine or a program

// Bytes, about, of a collective: its chunks, the ranks of the sets that they share, the positions of its
// buffers. The most is an Alltoall of 2,500 ranks, or three chunks per block in an Allgather of 4,096.
inline constexpr double kMostCollectiveBytes = 1 << 29;
constexpr double bytes_of(double chunks, double set_ranks, double positions) {
  constexpr double kChunk = 64;    // a ChunkSpec
  constexpr double kRank = 4;      // a Rank
  constexpr double kPosition = 8;  // of what is kept for each, as in Promise
  return kChunk * chunks + kRank * set_ranks + kPosition * positions;
}

}  // namespace chorale
