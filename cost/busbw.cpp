// The factors of nccl-tests follow from a row of the table of kinds (ir/collective_kind.h): of a vector with
// a block for each rank one of n blocks stays where it is, and an AllReduce moves the data twice.
#include "cost/busbw.h"

#include <algorithm>
#include <cassert>

namespace chorale {
namespace {

int most(const std::vector<int>& chunks) {
  return chunks.empty() ? 0 : *std::ranges::max_element(chunks);
}

// Chunks that the busiest rank receives or sends, whatever the algorithm.
double busiest_rank(const Collective& collective) {
  std::vector<double> in(collective.ranks), out(collective.ranks);
  for (const ChunkSpec& chunk : collective.chunks) {
    const double k = static_cast<double>(chunk.pre.size());
    const bool shared = collective.combining && chunk.post.size() > 1;
    for (const Rank n : chunk.post)
      if (shared)
        in[n] += 2 * (k - 1) / k;
      else if (!starts_at(chunk, n) || (collective.combining && k > 1))
        in[n] += 1;
    // A contribution to a sum leaves its rank. A copy must leave only if it is the single one at the start:
    // of several it is open which is sent. A shared sum counts at its receivers.
    if (shared || (!collective.combining && chunk.pre.size() > 1)) continue;
    for (const Rank n : chunk.pre)
      if (chunk.post.size() > 1 || !ends_at(chunk, n)) out[n] += 1;
  }
  double busiest = 0;
  for (Rank n = 0; n < collective.ranks; ++n) busiest = std::max({busiest, in[n], out[n]});
  return busiest;
}

}  // namespace

// Kinds whose larger buffer has a block per rank have the factor (n-1)/n: one of its n blocks need not move.
double busbw_factor(CollectiveKind kind, int ranks) {
  assert(ranks >= 1);
  const double others = (ranks - 1.0) / ranks;
  if (row_of(kind).result == CollectiveKind::AllReduce) return 2 * others;
  return blocks_of(kind, 2) > 1 ? others : 1.0;  // of two ranks, since of one all kinds have one block
}

// Of a collective without a name the factor is what the busiest rank has to send or receive over the size,
// which gives nccl-tests' factors for those with names.
MessageShape message_shape(const Collective& collective) {
  if (collective.kind != CollectiveKind::Custom)
    return {.blocks = blocks_of(collective.kind, collective.ranks),
            .bus_factor = busbw_factor(collective.kind, collective.ranks)};
  const int chunks = std::max({1, most(input_chunks(collective)), most(output_chunks(collective))});
  const int per_block = std::max(1, collective.chunks_per_block);
  return {.blocks = (chunks + per_block - 1) / per_block, .bus_factor = busiest_rank(collective) / chunks};
}

std::int64_t block_of_size(const MessageShape& shape, std::int64_t size) {
  return size / shape.blocks + (size % shape.blocks > 0 ? 1 : 0);
}

std::vector<std::int64_t> blocks_of_sizes(const Collective& collective,
                                          const std::vector<std::int64_t>& sizes) {
  const MessageShape shape = message_shape(collective);
  std::vector<std::int64_t> blocks;
  for (const std::int64_t size : sizes) blocks.push_back(block_of_size(shape, size));
  return blocks;
}

std::int64_t size_of_block(const MessageShape& shape, std::int64_t block) {
  return block * shape.blocks;
}

double algbw_gbs(double size, double us) {
  return us > 0 ? size / us / 1e3 : 0;
}

}  // namespace chorale
