// Sets come from the cut that was found: the ranks behind it can reach its far side for free. Each is
// examined once.
//
// How far a chunk can have spread within the set after t rounds: along hops, and each holder sends it to as
// many others as its links and limits carry. That both are upper bounds is enough; neither is exact.
#include "bounds/late_arrivals.h"

#include <algorithm>
#include <limits>

namespace chorale {
namespace {

__extension__ typedef __int128 Wide;
// Links examined to count the ranks within each number of hops; beyond it only the sends of ranks count.
constexpr double kMostHopsLooked = 1e7;
constexpr int kMostSets = 64;

class EntrySet {
 public:
  EntrySet(const Topology& topology, const std::vector<bool>& inside)
      : topology_(topology), inside_(inside), next_(topology.ranks) {
    for (const Link& link : topology.links)
      if (inside[link.src] && inside[link.dst]) next_[link.src].push_back(link.dst);
    for (std::vector<Rank>& to : next_) {
      std::ranges::sort(to);
      to.erase(std::ranges::unique(to).begin(), to.end());
      links_ += static_cast<double>(to.size());
    }
    size_ = std::ranges::count(inside, true);
  }

  // By rounds, until it is all of them or grows no more.
  std::vector<long long> spread() const {
    const std::vector<long long> within = ranks_within();
    const long long fan = most_told();
    std::vector<long long> most = {1};
    while (most.back() < size_) {
      const std::size_t t = std::min(most.size(), within.size() - 1);
      const long long next = std::min(within[t], most.back() * (1 + fan));
      if (next == most.back()) break;
      most.push_back(next);
    }
    return most;
  }

 private:
  // The most ranks that a rank can send to in a round.
  long long most_told() const {
    std::vector<long long> all(topology_.ranks, 0);
    for (const Link& link : topology_.links)
      if (inside_[link.src] && inside_[link.dst]) all[link.src] += link.bandwidth;
    std::vector<long long> least = all;
    for (const SharedLimit& limit : topology_.limits) {
      std::vector<std::pair<Rank, long long>> covered;
      for (LinkId l : limit.links) {
        const Link& link = topology_.links[l];
        if (inside_[link.src] && inside_[link.dst]) covered.push_back({link.src, link.bandwidth});
      }
      std::ranges::sort(covered);
      for (std::size_t i = 0; i < covered.size();) {
        const Rank n = covered[i].first;
        long long sum = 0;
        for (; i < covered.size() && covered[i].first == n; ++i) sum += covered[i].second;
        least[n] = std::min(least[n], all[n] - sum + limit.bandwidth);
      }
    }
    long long most = 0;
    for (Rank n = 0; n < topology_.ranks; ++n)
      most = std::max(most, std::min<long long>(least[n], std::ssize(next_[n])));
    return most;
  }

  // By hops: of the rank that has most so near.
  std::vector<long long> ranks_within() const {
    if (links_ * static_cast<double>(size_) > kMostHopsLooked) return {1, size_};
    std::vector<long long> most = {1};
    for (Rank v = 0; v < topology_.ranks; ++v) {
      if (!inside_[v]) continue;
      std::vector<bool> seen(topology_.ranks, false);
      std::vector<Rank> order = {v};
      seen[v] = true;
      for (std::size_t hop = 1, from = 0; from < order.size(); ++hop) {
        const std::size_t until = order.size();
        for (; from < until; ++from)
          for (Rank n : next_[order[from]])
            if (!seen[n]) {
              seen[n] = true;
              order.push_back(n);
            }
        if (most.size() <= hop) most.push_back(most.back());
        for (std::size_t h = hop; h < most.size(); ++h)
          most[h] = std::max<long long>(most[h], std::ssize(order));
      }
    }
    return most;
  }

  const Topology& topology_;
  const std::vector<bool>& inside_;
  std::vector<std::vector<Rank>> next_;  // inside, by rank
  double links_ = 0;
  long long size_ = 0;
};

// Only what links into the set pay.
Prices of_entries(const Topology& topology, const Prices& prices, const std::vector<bool>& inside) {
  const auto enters = [&](LinkId l) {
    return !inside[topology.links[l].src] && inside[topology.links[l].dst];
  };
  Prices kept = prices;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    if (!enters(l)) kept.links[l] = 0;
  for (std::size_t z = 0; z < topology.limits.size(); ++z)
    if (std::ranges::none_of(topology.limits[z].links, enters)) kept.limits[z] = 0;
  return kept;
}

// The fewest rounds in which entries are worth what is owed.
int rounds_for(Wide owed, Wide paid, long long wanted, const std::vector<long long>& spread) {
  Wide worth = 0;
  for (int rounds = 0; rounds < std::numeric_limits<int>::max() / 2; ++rounds) {
    if (paid * worth >= owed) return rounds;
    if (rounds + 1 >= std::ssize(spread)) {
      const Wide each = paid * std::min(wanted, spread.back());
      const Wide more = (owed - paid * worth + each - 1) / each;
      return more > std::numeric_limits<int>::max() / 2 ? 0 : rounds + static_cast<int>(more);
    }
    worth += std::min(wanted, spread[rounds]);
  }
  return 0;
}

std::optional<LateArrivalBound> behind(const Topology& topology, const std::vector<ChunkClass>& classes,
                                       const Prices& prices, const std::vector<bool>& inside) {
  const auto is_inside = [&](Rank n) { return inside[n]; };
  long long chunks = 0, wanted = std::numeric_limits<long long>::max();
  for (const ChunkClass& c : classes) {
    const long long want = std::ranges::count_if(c.post, is_inside);
    if (want == 0 || std::ranges::any_of(c.pre, is_inside)) continue;
    chunks += c.count();
    wanted = std::min(wanted, want);
  }
  if (chunks == 0 || wanted < 2) return std::nullopt;
  LateArrivalBound bound{.group = std::vector<int>(inside.begin(), inside.end()),
                         .prices = of_entries(topology, prices, inside)};
  const std::vector<std::int64_t> w = link_weights(topology, bound.prices);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    if (!inside[topology.links[l].src] && inside[topology.links[l].dst]) least = std::min(least, w[l]);
  if (least < 1 || least == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  bound.rounds = rounds_for(Wide{least} * chunks * wanted, paid_per_round(topology, bound.prices), wanted,
                            EntrySet(topology, inside).spread());
  return bound;
}

}  // namespace

std::optional<LateArrivalBound> late_arrival_bound(const Topology& topology,
                                                   const std::vector<ChunkClass>& classes,
                                                   const Prices& prices) {
  const std::vector<std::int64_t> w = link_weights(topology, prices);
  std::vector<std::vector<Rank>> free_from(topology.ranks);
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    if (w[l] == 0) free_from[topology.links[l].dst].push_back(topology.links[l].src);
  std::vector<bool> looked_at(topology.ranks, false);
  std::optional<LateArrivalBound> best;
  int sets = 0;
  for (Rank v = 0; v < topology.ranks && sets < kMostSets; ++v) {
    if (looked_at[v]) continue;
    ++sets;
    std::vector<bool> inside(topology.ranks, false);
    std::vector<Rank> order = {v};
    inside[v] = true;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (Rank n : free_from[order[i]])
        if (!inside[n]) {
          inside[n] = true;
          order.push_back(n);
        }
    for (Rank n : order) looked_at[n] = true;
    if (std::optional<LateArrivalBound> found = behind(topology, classes, prices, inside);
        found && (!best || found->rounds > best->rounds))
      best = std::move(found);
  }
  return best;
}

}  // namespace chorale
