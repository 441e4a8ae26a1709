// How executors run peer programs.
#pragma once

#include <cstdint>

namespace chorale {

struct PeerRunOptions {
  int slices = 1;   // that a block of the program is cut into
  int tile = 4096;  // elements of a tile; tiles of a chunk go to slices round-robin; a multiple of 16
  int threads = 1;  // of each slice
  // Of a block of the collective at a time; 0: all of it. Scratch has room for a segment. Programs with
  // several blocks per rank take all at once.
  std::int64_t segment_bytes = 1 << 20;
};

}  // namespace chorale
