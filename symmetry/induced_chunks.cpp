// Chunks that the same ranks have and want are one class, and its members can be exchanged freely. So a symmetry is one of
// the collective if it carries classes to classes of the same size; members go by their numbers, which makes the chunks of a
// product the product of the chunks.
#include "symmetry/induced_chunks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace chorale {
namespace {

using Roles = std::pair<std::vector<Rank>, std::vector<Rank>>;  // pre, post

std::vector<Rank> image(const std::vector<Rank>& ranks, const std::vector<Rank>& permutation) {
  std::vector<Rank> result;
  for (Rank n : ranks) result.push_back(permutation[n]);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

std::optional<std::vector<Chunk>> induced_chunks(const Collective& collective,
                                                 const Automorphism& automorphism) {
  std::map<Roles, std::vector<Chunk>> classes;
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    classes[{collective.chunks[c].pre, collective.chunks[c].post}].push_back(c);
  std::vector<Chunk> result(collective.chunks.size());
  for (const auto& [roles, chunks] : classes) {
    const auto target =
        classes.find({image(roles.first, automorphism.ranks), image(roles.second, automorphism.ranks)});
    if (target == classes.end() || target->second.size() != chunks.size()) return std::nullopt;
    for (std::size_t i = 0; i < chunks.size(); ++i) result[chunks[i]] = target->second[i];
  }
  return result;
}

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
