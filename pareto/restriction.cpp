// The idea: one restriction for every kind of regularity that the question allows, and their products. Which
// groups are worth trying is decided in graph/ (candidate_subgroups); here are those that also carry the
// collective to itself.
//
// Measured on the grid at 16 ranks, where the full formula answers none of these within a minute:
//   dgx1, Allgather (3,7,6)     all symmetries at once: 594 conflicts; half of them: 2,000 to 6,000
//   torus:4x4, AllReduce (4,4,3)   28 conflicts under one group of order 16, none in 500 under others
//   mesh:4x4, Alltoall (6,16,1)    4,265 conflicts if chunks only come nearer, not in 18,960 otherwise
//   torus:4x4, Alltoall (4,24,3)   all three chunks together: the schedule (4,8,1) thrice
// What lost: the split of the rounds over the steps as a restriction of its own. On mesh:4x4 it took 11,000
// conflicts in place of 4,265, and which split it should be is to be guessed.
#include "pareto/restriction.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "graph/automorphisms.h"
#include "graph/embedding.h"
#include "ir/collective.h"
#include "ir/schedule.h"

namespace chorale {
namespace {

// The most chunks that can go together everywhere.
int most_together(const Collective& collective) {
  int most = 0;
  for (const ChunkClass& each : chunk_classes(collective))
    most = std::gcd(most, static_cast<int>(each.count()));
  return std::max(most, 1);
}

bool each_wanted_once(const Collective& collective) {
  return !collective.combining &&
         std::ranges::all_of(collective.chunks, [](const ChunkSpec& spec) { return spec.post.size() == 1; });
}

}  // namespace

std::vector<Restriction> restrictions(const Topology& topology, const Collective& collective) {
  std::vector<std::vector<Automorphism>> groups = candidate_subgroups(topology, rank_colours(collective));
  std::erase_if(groups, [&](const std::vector<Automorphism>& generators) {
    return !std::ranges::all_of(
        generators, [&](const Automorphism& g) { return induced_chunks(collective, g).has_value(); });
  });
  const int together = most_together(collective);
  const bool nearer = each_wanted_once(collective);
  std::vector<Restriction> result;
  if (together > 1) {
    for (const auto& group : groups)
      result.push_back({.symmetry = group, .nearer = nearer, .together = together});
    result.push_back({.nearer = nearer, .together = together});
  }
  if (nearer)
    for (const auto& group : groups) result.push_back({.symmetry = group, .nearer = true});
  for (const auto& group : groups) result.push_back({.symmetry = group});
  return result;
}

Collective first_of(const Collective& collective, int together) {
  Collective first = collective;
  first.chunks.clear();
  first.chunks_per_block = std::max(1, collective.chunks_per_block / together);
  std::vector<Chunk> kept;
  for (const auto& [pre, post, chunks] : chunk_classes(collective))
    for (std::size_t i = 0; i < chunks.size(); i += together) kept.push_back(chunks[i]);
  std::ranges::sort(kept);
  for (Chunk c : kept) first.chunks.push_back(collective.chunks[c]);
  return first;
}

Schedule repeated_for_all(const Topology& topology, const Collective& whole, int together,
                          Schedule of_first) {
  if (together == 1) return of_first;
  std::map<Chunk, std::vector<Chunk>> packets;  // by the first of them
  for (const auto& [pre, post, chunks] : chunk_classes(whole))
    for (std::size_t i = 0; i < chunks.size(); ++i) packets[chunks[i - i % together]].push_back(chunks[i]);
  // first_of() numbers the chunks that it keeps in the order of their numbers; so does this map.
  Schedule all;
  for (int i = 0; i < together; ++i) {  // the i-th of each packet is where the first of all is
    Embedding ith = identity(topology, whole);
    ith.chunks.clear();
    for (const auto& [first, chunks] : packets) ith.chunks.push_back(chunks[i]);
    all = beside(all, embedded(of_first, ith, topology), topology);
  }
  return tidy(topology, whole, std::move(all));
}

}  // namespace chorale
