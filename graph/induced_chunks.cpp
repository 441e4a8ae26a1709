// Chunks that the same ranks have and need are one class, and its members can be exchanged freely. So a
// symmetry is one of the collective if it carries classes to classes of the same size; members go by their
// numbers, which makes the chunks of a product the product of the chunks.
//
// Example: on a ring of 3, the rotation by one carries the two chunks of an Allgather that rank 0 has to
// those that rank 1 has, the first to the first, the second to the second. A Broadcast's root has to stay
// where it is, or the class does not have an image.
#include "graph/induced_chunks.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "ir/collective.h"

namespace chorale {
namespace {

RankSet image(const RankSet& ranks, const std::vector<Rank>& permutation) {
  std::vector<Rank> result;
  for (Rank n : ranks) result.push_back(permutation[n]);
  return result;
}

}  // namespace

std::optional<std::vector<Chunk>> induced_chunks(const Collective& collective,
                                                 const Automorphism& automorphism) {
  if (collective.order.kind == SumOrder::Kind::Fixed &&
      renumbered(collective.order.tree, automorphism.ranks) != collective.order.tree)
    return std::nullopt;
  const std::vector<ChunkClass> classes = chunk_classes(collective);
  const auto ends = [](const ChunkClass& each) { return std::tie(each.pre, each.post); };
  std::vector<Chunk> result(collective.chunks.size());
  for (const ChunkClass& from : classes) {
    const RankSet pre = image(from.pre, automorphism.ranks), post = image(from.post, automorphism.ranks);
    // Classes are sorted by pre, then post.
    const auto to = std::ranges::lower_bound(classes, std::tie(pre, post), {}, ends);
    if (to == classes.end() || ends(*to) != std::tie(pre, post) || to->count() != from.count())
      return std::nullopt;
    for (std::size_t i = 0; i < from.chunks.size(); ++i) result[from.chunks[i]] = to->chunks[i];
  }
  return result;
}

// A role is to have a chunk that a number of ranks need, or to need one that a number of ranks have; even and
// odd numbers distinguish the two.
std::vector<int> rank_colours(const Collective& collective) {
  std::vector<std::vector<int>> roles(collective.ranks);
  for (const ChunkSpec& spec : collective.chunks) {
    for (Rank n : spec.pre) roles[n].push_back(static_cast<int>(2 * spec.post.size()));
    for (Rank n : spec.post) roles[n].push_back(static_cast<int>(2 * spec.pre.size() + 1));
  }
  for (auto& role : roles) std::sort(role.begin(), role.end());
  const std::set<std::vector<int>> kinds(roles.begin(), roles.end());
  std::vector<int> colours;
  for (const auto& role : roles)
    colours.push_back(static_cast<int>(std::distance(kinds.begin(), kinds.find(role))));
  return colours;
}

}  // namespace chorale
