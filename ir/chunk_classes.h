// Chunks that start at the same ranks and go to the same ranks: they differ by their number and by where they
// lie in buffers, so what bounds, encodings and constructions find out about one is true of all.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "ir/collective.h"

namespace chorale {

struct ChunkClass {
  RankSet pre = {};
  RankSet post = {};
  std::vector<Chunk> chunks = {};  // ascending
  std::int64_t count() const { return std::ssize(chunks); }
};

// Every class, by pre, then post.
std::vector<ChunkClass> chunk_classes(const Collective&);

}  // namespace chorale
