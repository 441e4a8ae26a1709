// The chunks of a kind follow from its row in the table (ir/collective_kind.h): a block for each pair (s, d)
// of a holder and a receiver, cut into `chunks` pieces.
#include "ir/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "ir/limits.h"

namespace chorale {

// The memory that a collective takes is estimated before it is made: per chunk, per rank of the sets that
// chunks share, and per position of a buffer (bytes_of, ir/limits.h). Products are of doubles, which do not
// overflow: a question from outside may ask for any number of chunks.

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

namespace {

std::vector<int> buffer_sizes(const Collective& collective, RankSet ChunkSpec::*ranks,
                              int ChunkSpec::*position) {
  std::vector<int> sizes(collective.ranks, 0);
  for (const ChunkSpec& spec : collective.chunks)
    // These ranks are not checked yet: the verifier reports those that are out of range.
    for (Rank n : spec.*ranks)
      if (n >= 0 && n < collective.ranks) sizes[n] = std::max(sizes[n], spec.*position + 1);
  return sizes;
}

}  // namespace

std::string name_of(const Collective& collective) {
  return is_custom(collective) ? collective.custom_name : name_of(collective.kind);
}

bool is_custom(const Collective& collective) {
  return collective.kind == CollectiveKind::Custom;
}

// Copies that are listed have an order only if those that share a position are added up there.
bool adds(const Collective& collective) {
  return collective.combining || is_combining(row_of(collective.kind).result) ||
         (is_custom(collective) && collective.order.kind == SumOrder::Kind::Fixed);
}

// A fixed order is left out: reversed copies add in the order of their paths, whatever the tree. With one
// destination there is one sum, so all ranks that have it agree.
bool has_copying_dual(const Collective& collective) {
  return collective.combining && collective.order.kind != SumOrder::Kind::Fixed &&
         std::ranges::all_of(collective.chunks, [](const ChunkSpec& spec) { return spec.post.size() == 1; });
}

// Two contributions have one sum, whichever comes first. A single destination agrees with itself, so that
// only a fixed order asks something of it.
bool asks_order(const Collective& collective, Chunk c) {
  const ChunkSpec& spec = collective.chunks[c];
  if (!collective.combining || spec.pre.size() < 3 || collective.order.kind == SumOrder::Kind::Free)
    return false;
  return spec.post.size() > 1 || collective.order.kind == SumOrder::Kind::Fixed;
}

// Block (s, d) comes after the blocks (s, d' < d) of the input and (s' < s, d) of the output, unless that is
// a single block: then there is one source, or, of AllReduceByGather, the blocks of all sources are added up
// there.
// Of three ranks, one chunk per block: Alltoall's block (1, 2) is at position 2 of rank 1's input and at
// position 1 of rank 2's output; Allgather's block (1, 0) is at 0 of rank 1's input and at 1 of all outputs;
// ReduceScatter's block (0, 2) is at 2 of all inputs and at 0 of rank 2's output.
void add_blocks(Collective& collective, CollectiveKind kind, const std::vector<Rank>& group, int root,
                const std::function<int(int, int)>& chunks) {
  const CollectiveRow& row = row_of(kind);
  const int n = static_cast<int>(group.size());
  const auto [sources, destinations, named] = block_pairs(kind, n);
  const RankSet all = group;
  const auto ranks_of = [&](Participants who, int each) {
    return who == Participants::All ? all : RankSet{group[who == Participants::Root ? root : each]};
  };
  const bool side_by_side = output_blocks(kind, n) > 1;
  std::vector<int> output(destinations, 0);
  for (int s = 0; s < sources; ++s) {
    int input = 0;
    for (int d = 0; d < destinations; ++d) {
      const int count = chunks(s, d);
      for (int i = 0; i < count; ++i)
        collective.chunks.push_back({.pre = ranks_of(row.before, s),
                                     .post = ranks_of(row.after, d),
                                     .input = input + i,
                                     .output = output[d] + i});
      input += count;
      if (side_by_side) output[d] += count;
    }
  }
}

namespace {

// Of vectors that would be gathered at all ranks, each rank gets its part; the sums of these go to all.
void sum_up_at_owners(Collective& collective) {
  const RankSet all = collective.chunks.front().post;
  const int count = collective.chunks_per_block;
  std::vector<RankSet> each;
  for (const Rank n : all) each.push_back({n});
  const auto owner = [&](int k) { return each[1LL * k * collective.ranks / count]; };
  for (ChunkSpec& spec : collective.chunks) spec.post = owner(spec.output);
  for (int k = 0; k < count; ++k)
    collective.chunks.push_back({.pre = owner(k), .post = all, .input = k, .output = k, .summed = true});
}

}  // namespace

Collective make_collective(CollectiveKind kind, int ranks, int chunks, Rank root) {
  assert(kind != CollectiveKind::Custom);
  if (const auto fault = flaw(kind, ranks, chunks, root))
    throw InputError("collective " + name_of(kind), *fault);
  Collective c{.kind = kind,
               .ranks = ranks,
               .root = root,
               .chunks_per_block = chunks,
               .combining = is_combining(kind)};
  std::vector<Rank> everyone(ranks);
  std::iota(everyone.begin(), everyone.end(), 0);
  add_blocks(c, kind, everyone, root, [chunks](int, int) { return chunks; });
  if (kind == CollectiveKind::AllReduceInPhases) sum_up_at_owners(c);
  return c;
}

Collective make_collective(const std::string& name, int ranks, int chunks, Rank root) {
  return make_collective(known_kind(name), ranks, chunks, root);
}

// Chunk c becomes chunks c * chunks and following, and so do its positions: the pieces of a chunk lie side by
// side, and blocks keep their order. In two pieces, chunk 3 at output 5 becomes the chunks 6 and 7 at outputs
// 10 and 11.
Collective refined(const Collective& whole, int chunks) {
  if (const auto fault = flaw_if_refined(bytes_of(whole), whole.ranks, whole.chunks_per_block, chunks))
    throw InputError("collective " + name_of(whole), *fault);
  Collective result = whole;
  result.chunks_per_block = whole.chunks_per_block * chunks;
  result.chunks.clear();
  for (const ChunkSpec& spec : whole.chunks)
    for (int i = 0; i < chunks; ++i) {
      result.chunks.push_back(spec);
      result.chunks.back().input = spec.input * chunks + i;
      result.chunks.back().output = spec.output * chunks + i;
    }
  return result;
}

Collective with_chunks(const Collective& one, int chunks) {
  return is_custom(one) ? refined(one, chunks) : of_kind(one, one.kind, chunks);
}

Collective of_kind(const Collective& asked, CollectiveKind kind, int chunks) {
  if (kind == CollectiveKind::Custom) return refined(asked, chunks);
  Collective made = make_collective(kind, asked.ranks, chunks, asked.root);
  made.order = asked.order;
  return made;
}

// The order of sums stays, so that it comes back with the dual of the dual.
Collective dual(const Collective& collective) {
  Collective result = collective;
  result.kind = row_of(collective.kind).dual;
  result.custom_name = is_custom(result) ? "dual of " + name_of(collective) : "";
  result.combining = !collective.combining;
  for (ChunkSpec& spec : result.chunks) {
    std::swap(spec.pre, spec.post);
    std::swap(spec.input, spec.output);
  }
  return result;
}

bool starts_at(const ChunkSpec& spec, Rank rank) {
  return spec.pre.contains(rank);
}

bool ends_at(const ChunkSpec& spec, Rank rank) {
  return spec.post.contains(rank);
}

// For one rank. For all ranks, the functions below walk over the chunks once.
int input_chunks(const Collective& collective, Rank rank) {
  int size = 0;
  for (const ChunkSpec& spec : collective.chunks)
    if (starts_at(spec, rank)) size = std::max(size, spec.input + 1);
  return size;
}

int output_chunks(const Collective& collective, Rank rank) {
  int size = 0;
  for (const ChunkSpec& spec : collective.chunks)
    if (ends_at(spec, rank)) size = std::max(size, spec.output + 1);
  return size;
}

std::vector<int> input_chunks(const Collective& collective) {
  return buffer_sizes(collective, &ChunkSpec::pre, &ChunkSpec::input);
}

std::vector<int> output_chunks(const Collective& collective) {
  return buffer_sizes(collective, &ChunkSpec::post, &ChunkSpec::output);
}

std::vector<std::vector<Chunk>> operands_of(const Collective& collective) {
  std::map<std::pair<Rank, int>, Chunk> sums;  // by where they are made
  std::vector<std::vector<Chunk>> operands(collective.chunks.size());
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c)
    if (const ChunkSpec& spec = collective.chunks[c]; spec.summed) sums[{spec.pre.front(), spec.output}] = c;
  if (sums.empty()) return operands;
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c)
    if (const ChunkSpec& spec = collective.chunks[c]; !spec.summed)
      for (const Rank n : spec.post)
        if (const auto at = sums.find({n, spec.output}); at != sums.end()) operands[at->second].push_back(c);
  return operands;
}

double bytes_of(const Collective& collective) {
  // Chunks that share a set are mostly neighbours, so each set is compared with those of the chunk before
  // only; where that misses one, it counts twice.
  double set_ranks = 0, positions = 0;
  const ChunkSpec* before = nullptr;
  for (const ChunkSpec& spec : collective.chunks) {
    for (RankSet ChunkSpec::*set : {&ChunkSpec::pre, &ChunkSpec::post})
      if (before == nullptr || !(spec.*set).shares(before->*set))
        set_ranks += static_cast<double>((spec.*set).size());
    before = &spec;
  }
  for (const std::vector<int>& sizes : {input_chunks(collective), output_chunks(collective)})
    for (int size : sizes) positions += size;
  return bytes_of(static_cast<double>(collective.chunks.size()), set_ranks, positions);
}

// Chunks of one block are neighbours, so runs of equal chunks are found first and only the first of each run
// is sorted. The sort is stable and runs are in the order of their numbers, so the chunks of a class come out
// ascending.

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
