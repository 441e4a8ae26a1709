// Ranks of an answer are matched with ranks of a communicator by hosts: a host of the machine takes a host of
// the communicator with as many ranks, and in it ranks follow their location (an MPI local rank or a GPU's
// bus number). Of several such hosts the first is taken: a communicator shows which ranks are on one host,
// and nothing of how hosts are linked.
#include "library/rank_mapping.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/automorphisms.h"
#include "ir/fnv.h"

namespace chorale {
namespace {

// The search for symmetries runs while a program waits for its first call, so it is left out on larger
// machines.
constexpr std::size_t kMostLinks = 50'000;

// Hosts by their first ranks, each with its ranks in order.
template <typename Key>
std::vector<std::vector<Rank>> by_host(int ranks, Key host_of) {
  std::vector<std::vector<Rank>> hosts;
  std::map<int, std::size_t> numbers;
  for (Rank n = 0; n < ranks; ++n) {
    const auto [at, is_new] = numbers.emplace(host_of(n), hosts.size());
    if (is_new) hosts.emplace_back();
    hosts[at->second].push_back(n);
  }
  return hosts;
}

// A block belongs to a rank if each rank has one of its own (ir/collective_kind.h).
int renamed_slot(int slot, int chunks_per_block, bool of_a_rank, const std::vector<Rank>& ranks) {
  return of_a_rank ? ranks.at(slot / chunks_per_block) * chunks_per_block + slot % chunks_per_block : slot;
}

RankSet renamed_set(const RankSet& set, const std::vector<Rank>& ranks) {
  if (set.size() == ranks.size()) return set;  // all
  std::vector<Rank> result;
  for (const Rank n : set) result.push_back(ranks.at(n));
  return RankSet(std::move(result));
}

}  // namespace

// Ranks compare names of hosts by a hash, which has a fixed size in a message.
std::uint64_t number_of_host(std::string_view name) {
  return fnv_of(name);
}

// Hosts get numbers in the order of the ranks, the same on all ranks.
void locate_ranks(std::span<const Whereabouts> told, std::span<RankLocation> locations) {
  int hosts = 0;
  for (std::size_t n = 0; n < told.size(); ++n) {
    const std::size_t first = std::ranges::find(told, told[n].host, &Whereabouts::host) - told.begin();
    locations[n] = {.host = first == n ? hosts++ : locations[first].host, .place = told[n].place};
  }
}

// Greedy, which finds a mapping if there is one: only the numbers of ranks have to match.
std::optional<std::vector<Rank>> rank_mapping(const std::vector<int>& hosts,
                                              const std::vector<RankLocation>& group) {
  if (hosts.size() != group.size()) return {};
  const auto of_machine = by_host(static_cast<int>(hosts.size()), [&](Rank n) { return hosts[n]; });
  auto of_group = by_host(static_cast<int>(group.size()), [&](Rank n) { return group[n].host; });
  std::vector<Rank> result(group.size());
  for (const std::vector<Rank>& mine : of_machine) {
    const auto fits =
        std::ranges::find(of_group, mine.size(), [](const std::vector<Rank>& ranks) { return ranks.size(); });
    if (fits == of_group.end()) return {};
    std::ranges::stable_sort(*fits, {}, [&](Rank n) { return group[n].place; });
    for (std::size_t i = 0; i < mine.size(); ++i) result[mine[i]] = (*fits)[i];
    of_group.erase(fits);
  }
  return result;
}

// The orbit of a rank, by breadth-first search over generators; each rank that is reached keeps the symmetry
// that carries `from` there (a Schreier tree). Composition needs only the images of the tree above it.
std::vector<std::vector<Rank>> carrying(const Topology& topology, Rank from) {
  std::vector<std::vector<Rank>> result(topology.ranks);
  result[from].resize(topology.ranks);
  std::iota(result[from].begin(), result[from].end(), 0);
  if (topology.links.size() > kMostLinks) return result;
  const SymmetryGroup group = symmetry_group(topology, std::vector<int>(topology.ranks, 0));
  std::vector<Rank> reached = {from};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const Automorphism& generator : group.generators) {
      const std::vector<Rank>& before = result[reached[i]];
      const Rank to = generator.ranks[reached[i]];
      if (!result[to].empty()) continue;
      result[to].resize(topology.ranks);
      for (Rank n = 0; n < topology.ranks; ++n) result[to][n] = generator.ranks[before[n]];
      reached.push_back(to);
    }
  return result;
}

Topology renamed(Topology topology, const std::vector<Rank>& ranks) {
  topology.underlay = {};  // bounds are of that; schedules are not
  for (Link& link : topology.links) {
    link.src = ranks.at(link.src);
    link.dst = ranks.at(link.dst);
  }
  return topology;
}

Collective renamed(Collective collective, const std::vector<Rank>& ranks) {
  const bool input_of_ranks = input_blocks(collective.kind, 2) > 1,
             output_of_ranks = output_blocks(collective.kind, 2) > 1;
  const int pieces = collective.chunks_per_block;
  for (ChunkSpec& chunk : collective.chunks) {
    chunk.pre = renamed_set(chunk.pre, ranks);
    chunk.post = renamed_set(chunk.post, ranks);
    chunk.input = renamed_slot(chunk.input, pieces, input_of_ranks, ranks);
    chunk.output = renamed_slot(chunk.output, pieces, output_of_ranks, ranks);
  }
  if (is_rooted(collective.kind)) collective.root = ranks.at(collective.root);
  return collective;
}

}  // namespace chorale
