// Chunks of one block are neighbours, so runs of equal chunks are found first and only the first of each run
// is sorted. The sort is stable and runs are in the order of their numbers, so the chunks of a class come out
// ascending.
#include "ir/chunk_classes.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace chorale {

std::vector<ChunkClass> chunk_classes(const Collective& collective) {
  const auto ends = [&](Chunk c) { return std::tie(collective.chunks[c].pre, collective.chunks[c].post); };
  std::vector<Chunk> firsts;  // of runs of equal chunks
  const Chunk all = static_cast<Chunk>(collective.chunks.size());
  for (Chunk c = 0; c < all; ++c)
    if (c == 0 || ends(c) != ends(c - 1)) firsts.push_back(c);
  std::ranges::stable_sort(firsts, [&](Chunk a, Chunk b) { return ends(a) < ends(b); });
  std::vector<ChunkClass> classes;
  for (Chunk first : firsts) {
    const ChunkSpec& spec = collective.chunks[first];
    if (classes.empty() || ends(classes.back().chunks.front()) != ends(first))
      classes.push_back({.pre = spec.pre, .post = spec.post});
    for (Chunk c = first; c < all && ends(c) == ends(first); ++c) classes.back().chunks.push_back(c);
  }
  return classes;
}

}  // namespace chorale
