// Written from the definition in ir/frontier.h: the value of entries under the prices, how far a chunk can
// have spread in the group in a number of rounds after it entered, and a sum over one round less than the
// claim has. Numbers are multiplied in 128 bits.
//
// One breadth-first search for each rank of the group; where that is too much work, the number of near ranks
// is not computed, which can only let a chunk spread faster.
#include "bounds/check_late_arrivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "ir/words.h"

namespace chorale {
namespace {

__extension__ typedef __int128 Wide;
constexpr std::int64_t kMostSearched = 20'000'000;  // links, for all ranks of a group
constexpr std::int64_t kHeaviestEntry = std::int64_t{1} << 40;

// The ranks of the group to which each rank of it can send directly.
using Neighbours = std::map<Rank, std::set<Rank>>;

Neighbours neighbours_in(const Topology& topology, const std::vector<int>& group) {
  Neighbours next;
  for (Rank n = 0; n < topology.ranks; ++n)
    if (group[n] == 1) next[n];
  for (const Link& link : topology.links)
    if (group[link.src] == 1 && group[link.dst] == 1 && link.src != link.dst) next[link.src].insert(link.dst);
  return next;
}

// The most ranks that any rank of it can send to in one round.
std::int64_t greatest_fan(const Topology& topology, const std::vector<int>& group, const Neighbours& next) {
  std::int64_t greatest = 0;
  for (const auto& [n, others] : next) {
    const auto leaves = [&, rank = n](const Link& link) { return link.src == rank && group[link.dst] == 1; };
    std::int64_t all = 0;
    for (const Link& link : topology.links)
      if (leaves(link)) all += link.bandwidth;
    std::int64_t fan = std::min<std::int64_t>(all, static_cast<std::int64_t>(others.size()));
    for (const SharedLimit& limit : topology.limits) {
      std::int64_t under = 0;
      for (LinkId l : limit.links)
        if (leaves(topology.links[l])) under += topology.links[l].bandwidth;
      if (under > 0) fan = std::min<std::int64_t>(fan, all - under + limit.bandwidth);
    }
    greatest = std::max(greatest, fan);
  }
  return greatest;
}

// near[h]: ranks at most h hops from one, of the one with the most.
std::vector<std::int64_t> most_near(const Neighbours& next) {
  std::int64_t links = 0;
  for (const auto& [n, others] : next) links += static_cast<std::int64_t>(others.size());
  const auto size = static_cast<std::int64_t>(next.size());
  if (links * size > kMostSearched) return {1, size};
  std::vector<std::int64_t> near(next.size(), 1);
  for (const auto& [start, unused] : next) {
    std::map<Rank, std::size_t> hops = {{start, 0}};
    std::vector<std::int64_t> at(next.size(), 0);
    for (std::deque<Rank> queue = {start}; !queue.empty(); queue.pop_front()) {
      ++at[hops[queue.front()]];
      for (Rank n : next.at(queue.front()))
        if (hops.try_emplace(n, hops[queue.front()] + 1).second) queue.push_back(n);
    }
    std::int64_t sum = 0;
    for (std::size_t h = 0; h < at.size(); ++h) near[h] = std::max(near[h], sum += at[h]);
  }
  return near;
}

}  // namespace

std::string late_arrivals_fault(const Topology& asked_topology, const Collective& asked, const Claim& claim) {
  if (asked_topology.underlay) return "entries prove nothing about routes that were not chosen";
  if (abilities_of(asked_topology).any())
    return "entries prove nothing about switches that multicast or reduce";
  if (claim.rounds == kNoSchedule) return "entries never show that there is no schedule";
  const bool turn = asked.combining;
  if (turn && std::ranges::any_of(asked.chunks, [](const ChunkSpec& c) { return c.post.size() != 1; }))
    return "entries prove nothing about sums with several destinations";
  const Topology topology = turn ? reversed(asked_topology) : asked_topology;
  const Collective collective = turn ? dual(asked) : asked;
  const std::vector<int>& group = claim.certificate.group;
  if (static_cast<int>(group.size()) != topology.ranks)
    return fmt::format("the group is of {} ranks, there are {}", group.size(), topology.ranks);
  if (std::ranges::any_of(group, [](int g) { return g != 0 && g != 1; }))
    return "ranks are in the group, 1, or not, 0";
  if (claim.certificate.prices.size() != 1) return "entries need one entry of prices";
  const Prices& prices = claim.certificate.prices.front();
  if (prices.links.size() != topology.links.size() || prices.limits.size() != topology.limits.size())
    return "there are prices of other links and limits than those of the topology";
  const auto negative = [](int price) { return price < 0; };
  if (std::ranges::any_of(prices.links, negative) || std::ranges::any_of(prices.limits, negative))
    return "a price is negative";

  Wide paid = 0;  // at most, in a round
  std::vector<std::int64_t> weight(prices.links.begin(), prices.links.end());
  for (std::size_t l = 0; l < weight.size(); ++l) paid += Wide{prices.links[l]} * topology.links[l].bandwidth;
  for (std::size_t z = 0; z < topology.limits.size(); ++z) {
    paid += Wide{prices.limits[z]} * topology.limits[z].bandwidth;
    for (LinkId l : topology.limits[z].links) weight[l] += prices.limits[z];
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();  // of an entry
  for (std::size_t l = 0; l < weight.size(); ++l)
    if (group[topology.links[l].src] == 0 && group[topology.links[l].dst] == 1)
      least = std::min(least, weight[l]);
  if (least > kHeaviestEntry) return "no link enters the group, or at too high a price";
  if (least == 0) return "a link that enters the group costs nothing";

  std::int64_t chunks = 0, wanting = topology.ranks;
  for (const ChunkSpec& spec : collective.chunks) {
    const auto inside = [&](Rank n) { return group[n] == 1; };
    const std::int64_t want = std::ranges::count_if(spec.post, inside);
    if (want == 0 || std::ranges::any_of(spec.pre, inside)) continue;
    ++chunks;
    wanting = std::min(wanting, want);
  }
  if (chunks == 0) return "no chunk has to enter the group";

  const Neighbours next = neighbours_in(topology, group);
  const std::vector<std::int64_t> near = most_near(next);
  const std::int64_t fan = greatest_fan(topology, group, next);
  // The value of entries in one round less than claimed, each `wanting` at most; from the last round back.
  const std::int64_t rounds = claim.rounds - 1;
  Wide worth = 0;
  std::int64_t spread = 1;
  for (std::int64_t after = 0; after < rounds; ++after) {
    const std::int64_t each = std::min(spread, wanting);
    worth += each;
    const std::int64_t further =
        std::min(near[std::min<std::size_t>(static_cast<std::size_t>(after) + 1, near.size() - 1)],
                 spread * (1 + fan));
    if (each == wanting || (further == spread && after + 1 >= static_cast<std::int64_t>(near.size()))) {
      worth += Wide{rounds - after - 1} * each;
      break;
    }
    spread = further;
  }
  if (paid * worth < Wide{least} * chunks * wanting) return "";
  return counted(claim.rounds - 1, "round is", "rounds are") + " not excluded by entries";
}

}  // namespace chorale
