#include "bounds/check_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace chorale {
namespace {

constexpr long long kMostSplits = 5'000'000;

// Chunks a round that can leave a rank: its links, or one limit that covers some of them and the links
// besides.
long long leaving(const Topology& topology, Rank n) {
  long long all = 0;
  for (const Link& link : topology.links)
    if (link.src == n) all += link.bandwidth;
  long long least = all;
  for (const SharedLimit& limit : topology.limits) {
    long long uncovered = all;
    for (LinkId l : limit.links)
      if (topology.links[l].src == n) uncovered -= topology.links[l].bandwidth;
    least = std::min(least, uncovered + limit.bandwidth);
  }
  return least;
}

struct Spread {
  long long chunks = 0;    // of the class
  long long starters = 0;  // ranks that have them before
  long long goal = 0;      // ranks that have them in the end, at least
  long long from_start = 0;
  long long per_rank = 0;
};

// Does this split leave no schedule? Some step s is too late a start for what cannot have left before it.
bool excluded(const Spread& spread, const std::vector<int>& rounds) {
  long long before = 0;
  for (std::size_t s = 0; s < rounds.size(); before += rounds[s], ++s) {
    const long long left = spread.chunks - spread.from_start * before;
    if (left <= 0) return false;
    long long holders = spread.starters, sends = 0;
    for (std::size_t t = s; t < rounds.size(); ++t) {
      const long long now = rounds[t] * (t == s ? spread.from_start : holders * spread.per_rank);
      sends += now;
      holders = std::min(holders + now, 2 * spread.goal);  // more than enough says no more
    }
    // One chunk cannot reach all, or all that are left cannot.
    if (holders < spread.goal || sends < left * (spread.goal - spread.starters)) return true;
  }
  return spread.chunks > spread.from_start * before;
}

}  // namespace

std::string growth_fault(const Topology& asked_topology, const Collective& asked, const Claim& claim) {
  const bool turn = asked.combining;
  if (turn && std::any_of(asked.chunks.begin(), asked.chunks.end(),
                          [](const ChunkSpec& c) { return c.post.size() != 1; }))
    return "growth says nothing about sums with several destinations";
  const Topology topology = turn ? reversed(asked_topology) : asked_topology;
  const Collective collective = turn ? dual(asked) : asked;
  const Chunk chunk = claim.certificate.chunk;
  if (chunk < 0 || chunk >= static_cast<int>(collective.chunks.size()))
    return fmt::format("there is no chunk {}", chunk);
  if (claim.steps < 1 || claim.steps > 1000 || claim.rounds < 1 || claim.rounds > 1'000'000)
    return "growth is about a number of steps and rounds";
  const ChunkSpec& named = collective.chunks[chunk];
  std::set<Rank> holders(named.pre.begin(), named.pre.end());
  Spread spread{.starters = static_cast<long long>(holders.size())};
  holders.insert(named.post.begin(), named.post.end());
  spread.goal = static_cast<long long>(holders.size());
  for (const ChunkSpec& spec : collective.chunks)
    spread.chunks += spec.pre == named.pre && spec.post == named.post;
  for (Rank n : named.pre) spread.from_start += leaving(topology, n);
  for (Rank n = 0; n < topology.ranks; ++n) spread.per_rank = std::max(spread.per_rank, leaving(topology, n));
  if (spread.goal == spread.starters) return fmt::format("chunk {} need not move", chunk);

  // All splits of rounds - 1 over the steps, as an odometer whose last place takes what is left.
  std::vector<int> split(claim.steps, 0);
  const int sum = claim.rounds - 1;
  split.back() = sum;
  for (long long tried = 0; tried < kMostSplits; ++tried) {
    if (!excluded(spread, split))
      return fmt::format("{} rounds, split {}, are not excluded by growth", sum, fmt::join(split, "+"));
    int place = claim.steps - 2, left = split.back();
    while (place >= 0 && left == 0) {
      left = split[place];
      split[place--] = 0;
    }
    if (place < 0) return "";
    ++split[place];
    split.back() = left - 1;
  }
  return "has too many splits of the rounds to be checked";
}

}  // namespace chorale
