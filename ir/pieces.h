// Where slots begin once elements are counted: the arithmetic of all executors and emitters of programs.
// C++17 without other headers of ours, since it is compiled for devices, too, and is copied along with
// emitted programs.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define CHORALE_DEVICE __host__ __device__
#else
#define CHORALE_DEVICE
#endif

namespace chorale {

// Part `index` of `count` of a length begins there; part `count` begins where the length ends. Parts differ
// by at most one, and the longer ones come first: 10 in 4 parts are 3, 3, 2, 2. Division comes first, so
// nothing overflows.
CHORALE_DEVICE constexpr std::int64_t part_begin(std::int64_t length, int count, int index) {
  const std::int64_t longer = length % count;
  return length / count * index + (index < longer ? index : longer);
}

struct Pieces {
  std::int64_t elements = 0;  // of a block
  int pieces = 1;             // of a block

  CHORALE_DEVICE constexpr std::int64_t begin(int piece) const { return part_begin(elements, pieces, piece); }
  CHORALE_DEVICE constexpr std::int64_t length(int piece) const { return begin(piece + 1) - begin(piece); }
  // What a scratch slot has room for.
  CHORALE_DEVICE constexpr std::int64_t longest() const { return begin(1); }
  // Elements before a slot of an input or output.
  CHORALE_DEVICE constexpr std::int64_t slot_begin(int slot) const {
    return slot / pieces * elements + begin(slot % pieces);
  }
  CHORALE_DEVICE constexpr std::int64_t slot_length(int slot) const { return length(slot % pieces); }
};

}  // namespace chorale
