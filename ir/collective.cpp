#include "ir/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"
#include "ir/sizes.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr int kMostChunksPerBlock = 1 << 22;

std::vector<Rank> all_ranks(int ranks) {
  std::vector<Rank> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Chunks of a collective in which rank `root` deals with the whole vector, position i for chunk i.
void add_vector_chunks(Collective& c, const std::vector<Rank>& pre, const std::vector<Rank>& post) {
  for (int i = 0; i < c.chunks_per_block; ++i)
    c.chunks.push_back({.pre = pre, .post = post, .input = i, .output = i});
}

void require_room(const std::string& name, int chunks, int ranks, double bytes) {
  constexpr double kMiB = 1 << 20;
  if (bytes > kMostCollectiveBytes)
    throw InputError(
        "collective " + name,
        fmt::format("{} chunks a block for {} ranks would take {:.0f} MiB", chunks, ranks, bytes / kMiB),
        fmt::format("use fewer: {:.0f} MiB is the most", kMostCollectiveBytes / kMiB));
}

// Positions are dense in named collectives: each named rank has one.
void require_room(const std::string& name, double ranks, double chunks) {
  double count = chunks, named = chunks * (1 + ranks);
  if (name == "allreduce") named = 2 * chunks * ranks;
  if (name == "scatter" || name == "gather") count = chunks * ranks, named = 2 * count;
  if (name == "allgather" || name == "allreduce_by_gather" || name == "reducescatter")
    count = chunks * ranks, named = count * (1 + ranks);
  if (name == "alltoall") count = chunks * ranks * ranks, named = 2 * count;
  require_room(name, static_cast<int>(chunks), static_cast<int>(ranks), bytes_of(count, named, named));
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = {"broadcast", "scatter", "gather",        "allgather",
                                                 "alltoall",  "reduce",  "reducescatter", "allreduce"};
  return names;
}

bool is_rooted(const std::string& name) {
  return name == "broadcast" || name == "scatter" || name == "gather" || name == "reduce";
}

Collective make_collective(const std::string& name, int ranks, int chunks, Rank root) {
  if (ranks < 1) throw InputError("collective " + name, std::to_string(ranks) + " ranks", "use at least 1");
  if (chunks < 1)
    throw InputError("collective " + name, std::to_string(chunks) + " chunks", "use at least 1");
  if (root < 0 || root >= ranks)
    throw InputError("collective " + name, "root " + std::to_string(root) + " is not a rank",
                     "use 0 to " + std::to_string(ranks - 1));
  require_room(name, static_cast<double>(ranks), static_cast<double>(chunks));
  Collective c{.name = name, .ranks = ranks, .root = root, .chunks_per_block = chunks};
  const std::vector<Rank> all = all_ranks(ranks);
  const int k = chunks;
  if (name == "broadcast") {
    add_vector_chunks(c, {root}, all);
  } else if (name == "reduce") {
    c.combining = true;
    add_vector_chunks(c, all, {root});
  } else if (name == "allreduce") {
    c.combining = true;
    add_vector_chunks(c, all, all);
  } else if (name == "scatter") {
    for (Rank d = 0; d < ranks; ++d)
      for (int i = 0; i < k; ++i)
        c.chunks.push_back({.pre = {root}, .post = {d}, .input = d * k + i, .output = i});
  } else if (name == "gather") {
    for (Rank s = 0; s < ranks; ++s)
      for (int i = 0; i < k; ++i)
        c.chunks.push_back({.pre = {s}, .post = {root}, .input = i, .output = s * k + i});
  } else if (name == "allgather") {
    for (Rank s = 0; s < ranks; ++s)
      for (int i = 0; i < k; ++i)
        c.chunks.push_back({.pre = {s}, .post = all, .input = i, .output = s * k + i});
  } else if (name == "allreduce_by_gather") {
    for (Rank s = 0; s < ranks; ++s)
      for (int i = 0; i < k; ++i) c.chunks.push_back({.pre = {s}, .post = all, .input = i, .output = i});
  } else if (name == "reducescatter") {
    c.combining = true;
    for (Rank d = 0; d < ranks; ++d)
      for (int i = 0; i < k; ++i)
        c.chunks.push_back({.pre = all, .post = {d}, .input = d * k + i, .output = i});
  } else if (name == "alltoall") {
    for (Rank s = 0; s < ranks; ++s)
      for (Rank d = 0; d < ranks; ++d)
        for (int i = 0; i < k; ++i)
          c.chunks.push_back({.pre = {s}, .post = {d}, .input = d * k + i, .output = s * k + i});
  } else {
    throw InputError("collective", "unknown name '" + name.substr(0, 60) + "'",
                     did_you_mean(name, collective_names(),
                                  "use one of " + joined(collective_names()) + ", or a JSON file"));
  }
  return c;
}

Collective refined(const Collective& whole, int chunks) {
  if (chunks < 1)
    throw InputError("collective " + whole.name, std::to_string(chunks) + " chunks", "use at least 1");
  require_room(whole.name, chunks, whole.ranks, bytes_of(whole) * chunks);
  if (1LL * whole.chunks_per_block * chunks > kMostChunksPerBlock)
    throw InputError("collective " + whole.name,
                     fmt::format("{} chunks of {} in a block", chunks, whole.chunks_per_block),
                     fmt::format("use at most {} in all", kMostChunksPerBlock));
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

Collective dual(const Collective& collective) {
  Collective result = collective;
  result.name = "dual of " + collective.name;
  if (collective.name == "reduce") result.name = "broadcast";
  if (collective.name == "broadcast") result.name = "reduce";
  if (collective.name == "reducescatter") result.name = "allgather";
  if (collective.name == "allgather") result.name = "reducescatter";
  result.combining = !collective.combining;
  for (ChunkSpec& spec : result.chunks) {
    std::swap(spec.pre, spec.post);
    std::swap(spec.input, spec.output);
  }
  return result;
}

bool starts_at(const ChunkSpec& spec, Rank rank) {
  return std::binary_search(spec.pre.begin(), spec.pre.end(), rank);
}

bool ends_at(const ChunkSpec& spec, Rank rank) {
  return std::binary_search(spec.post.begin(), spec.post.end(), rank);
}

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

}  // namespace chorale
