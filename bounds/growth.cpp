#include "bounds/growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace chorale {
namespace {

constexpr double kMostSplits = 1e6;

std::vector<long long> capacities(const Topology& topology) {
  std::vector<long long> out(topology.ranks, 0);
  for (const Link& link : topology.links) out[link.src] += link.bandwidth;
  std::vector<long long> least = out;
  for (const SharedLimit& limit : topology.limits) {
    std::map<Rank, long long> covered;
    for (LinkId l : limit.links) covered[topology.links[l].src] += topology.links[l].bandwidth;
    for (const auto& [n, bandwidth] : covered)
      least[n] = std::min(least[n], out[n] - bandwidth + limit.bandwidth);
  }
  return least;
}

// Looks for a split of the rounds over the steps that growth allows.
class Splits {
 public:
  Splits(long long chunks, long long starters, long long goal, long long first, long long most, int steps)
      : chunks_(chunks), starters_(starters), goal_(goal), first_(first), most_(most), rounds_(steps, 0) {}

  bool some_allowed(int total) { return place(static_cast<int>(rounds_.size()) - 1, total); }

 private:
  bool place(int step, int left) {
    if (step < 0) return allowed(left);
    for (int r = step == 0 ? left : 0; r <= left; ++r) {
      rounds_[step] = r;
      if (place(step - 1, left - r)) return true;
    }
    rounds_[step] = 0;
    return false;
  }

  bool allowed(int left_over) const {
    if (left_over != 0) return false;
    const long long all = std::accumulate(rounds_.begin(), rounds_.end(), 0LL);
    if (first_ * all < chunks_) return false;
    long long after = all;  // rounds from this step on
    for (std::size_t s = 0; s < rounds_.size(); ++s) {
      const long long late = chunks_ - first_ * (all - after);
      after -= rounds_[s];
      if (late <= 0) break;
      long long reach = starters_ + first_ * rounds_[s], sent = first_ * rounds_[s];
      for (std::size_t t = s + 1; t < rounds_.size(); ++t) {
        sent += most_ * rounds_[t] * reach;
        reach = std::min(2 * goal_, reach * (1 + most_ * rounds_[t]));
      }
      if (reach < goal_ || sent < late * (goal_ - starters_)) return false;
    }
    return true;
  }

  const long long chunks_, starters_, goal_, first_, most_;
  std::vector<int> rounds_;
};

double splits(int rounds, int steps) {
  return std::exp(std::lgamma(rounds + steps) - std::lgamma(rounds + 1) - std::lgamma(steps));
}

}  // namespace

GrowthBound growth_bound(const Topology& topology, const Collective& copying, int steps) {
  const std::vector<long long> capacity = capacities(topology);
  const long long most = capacity.empty() ? 0 : *std::max_element(capacity.begin(), capacity.end());
  struct Class {
    Chunk first = 0;
    long long chunks = 0;
  };
  std::map<std::pair<std::vector<Rank>, std::vector<Rank>>, Class> classes;
  for (Chunk c = static_cast<int>(copying.chunks.size()) - 1; c >= 0; --c) {
    Class& known = classes[{copying.chunks[c].pre, copying.chunks[c].post}];
    known.first = c;
    ++known.chunks;
  }
  GrowthBound best;
  for (const auto& [ends, chunk_class] : classes) {
    std::vector<Rank> holders = ends.first;
    holders.insert(holders.end(), ends.second.begin(), ends.second.end());
    std::sort(holders.begin(), holders.end());
    holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    const auto goal = static_cast<long long>(holders.size()),
               starters = static_cast<long long>(ends.first.size());
    long long first = 0;
    for (Rank n : ends.first) first += capacity[n];
    if (goal <= starters || first == 0) continue;
    Splits search(chunk_class.chunks, starters, goal, first, most, steps);
    int rounds = std::max(best.rounds, 1);
    while (splits(rounds, steps) < kMostSplits && !search.some_allowed(rounds)) ++rounds;
    if (rounds > std::max(best.rounds, 1)) best = {.rounds = rounds, .chunk = chunk_class.first};
  }
  return best;
}

}  // namespace chorale
