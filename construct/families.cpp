#include "construct/families.h"

#include <algorithm>
#include <map>

namespace chorale {

std::vector<std::vector<Chunk>> starting_together(const Collective& collective) {
  std::map<RankSet, int> known;
  std::vector<std::vector<Chunk>> families;
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c) {
    const auto [at, fresh] = known.try_emplace(collective.chunks[c].pre, static_cast<int>(families.size()));
    if (fresh) families.emplace_back();
    families[at->second].push_back(c);
  }
  return families;
}

bool copies_to_all(const Topology& topology, const Collective& collective) {
  if (collective.combining || topology.ranks < 2 || collective.chunks.empty()) return false;
  const bool anywhere = all_reach_all(topology);
  for (const std::vector<Chunk>& chunks : starting_together(collective)) {
    const RankSet& pre = collective.chunks[chunks.front()].pre;
    if (pre.empty() || static_cast<int>(pre.size()) == topology.ranks) return false;
    if (!anywhere && std::ranges::min(hops(topology, pre)) < 0) return false;
  }
  return std::ranges::all_of(collective.chunks, [&](const ChunkSpec& spec) {
    for (Rank n = 0; n < topology.ranks; ++n)
      if (!starts_at(spec, n) && !ends_at(spec, n)) return false;
    return true;
  });
}

}  // namespace chorale
