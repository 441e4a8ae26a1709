// The memory that a collective takes is estimated before it is made: per chunk, per rank of the sets that
// chunks share, and per position of a buffer (bytes_of, ir/limits.h). Products are of doubles, which do not
// overflow: a question from outside may ask for any number of chunks.
#include "ir/collective_size.h"

#include <fmt/format.h>

#include <string>

#include "ir/limits.h"

namespace chorale {
namespace {

constexpr int kMostChunksPerBlock = 1 << 22;

std::optional<Fault> beyond_memory(int chunks, int ranks, double bytes) {
  constexpr double kMiB = 1 << 20;
  if (bytes <= kMostCollectiveBytes) return std::nullopt;
  return Fault{.kind = Fault::Kind::Size,
               .words = fmt::format("{} chunk{} per block for {} ranks would take {:.0f} MiB", chunks,
                                    chunks == 1 ? "" : "s", ranks, bytes / kMiB),
               .remedy = fmt::format("use fewer{}: {:.0f} MiB is the most", chunks == 1 ? " ranks" : "",
                                     kMostCollectiveBytes / kMiB)};
}

}  // namespace

// The kind's row determines both. Alltoall of n ranks: n x n pairs that name two ranks each; AllReduce: one
// pair that names 2 n.
BlockPairs block_pairs(CollectiveKind kind, int ranks) {
  const CollectiveRow& row = row_of(kind);
  BlockPairs pairs;
  if (row.before == Participants::Each) pairs.sources = ranks;
  if (row.after == Participants::Each) pairs.destinations = ranks;
  for (const Participants who : {row.before, row.after}) pairs.named += who == Participants::All ? ranks : 1;
  return pairs;
}

std::optional<Fault> flaw(CollectiveKind kind, int ranks, int chunks, Rank root) {
  const auto size = [](const std::string& words, const std::string& remedy) {
    return Fault{.kind = Fault::Kind::Size, .words = words, .remedy = remedy};
  };
  if (ranks < 1) return size(std::to_string(ranks) + " ranks", "use at least 1");
  if (chunks < 1) return size(std::to_string(chunks) + " chunks", "use at least 1");
  if (root < 0 || root >= ranks)
    return size("root " + std::to_string(root) + " is not a rank", "use 0 to " + std::to_string(ranks - 1));
  const BlockPairs pairs = block_pairs(kind, ranks);
  const double count = 1.0 * pairs.sources * pairs.destinations * chunks;
  // Positions are dense: each rank that a chunk names has one.
  return beyond_memory(chunks, ranks, bytes_of(count, ranks, count * pairs.named));
}

std::optional<Fault> flaw_if_refined(double bytes, int ranks, int chunks_per_block, int chunks) {
  if (chunks < 1)
    return Fault{
        .kind = Fault::Kind::Size, .words = std::to_string(chunks) + " chunks", .remedy = "use at least 1"};
  if (std::optional<Fault> fault = beyond_memory(chunks, ranks, bytes * chunks)) return fault;
  if (1LL * chunks_per_block * chunks <= kMostChunksPerBlock) return std::nullopt;
  return Fault{.kind = Fault::Kind::Size,
               .words = fmt::format("{} chunks of {} in a block", chunks, chunks_per_block),
               .remedy = fmt::format("use at most {} in all", kMostChunksPerBlock)};
}

}  // namespace chorale
