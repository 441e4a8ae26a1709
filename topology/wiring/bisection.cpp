// Two halves by exchanges of ranks, as of Kernighan and Lin: the exchange that gains most, until none does.
#include <algorithm>
#include <numeric>
#include <random>

#include "topology/wiring/cayley.h"

namespace chorale {
namespace {

constexpr int kStarts = 40;

class Halves {
 public:
  explicit Halves(const Topology& topology) : out_(topology.ranks), in_half_(topology.ranks, false) {
    for (const Link& link : topology.links) out_[link.src].push_back(link.dst);
  }

  // From the first half of an order; of odd ranks it is the smaller one. Exchanges keep the sizes of both.
  int narrowed(const std::vector<Rank>& order) {
    in_half_.assign(out_.size(), false);
    for (std::size_t i = 0; i < order.size() / 2; ++i) in_half_[order[i]] = true;
    while (exchange()) {
    }
    int across = 0;
    for (std::size_t a = 0; a < out_.size(); ++a)
      for (const Rank b : out_[a]) across += in_half_[a] && !in_half_[b] ? 1 : 0;
    return across;
  }

 private:
  // Links to the other half less those to the own.
  int gain(Rank rank) const {
    int gain = 0;
    for (const Rank other : out_[rank]) gain += in_half_[other] == in_half_[rank] ? -1 : 1;
    return gain;
  }

  // The sum of both gains counts the links between the two, one each way, which stay across: they are
  // subtracted. A pair whose sum is not better is skipped without that count.
  bool exchange() {
    std::vector<int> gains;
    for (Rank a = 0; a < static_cast<int>(out_.size()); ++a) gains.push_back(gain(a));
    int best = 0;
    Rank first = 0, second = 0;
    for (Rank a = 0; a < static_cast<int>(out_.size()); ++a) {
      if (!in_half_[a]) continue;
      for (Rank b = 0; b < static_cast<int>(out_.size()); ++b) {
        if (in_half_[b] || gains[a] + gains[b] <= best) continue;
        const int joined = static_cast<int>(std::ranges::count(out_[a], b));
        if (const int gained = gains[a] + gains[b] - 2 * joined; gained > best) {
          best = gained;
          first = a;
          second = b;
        }
      }
    }
    if (best == 0) return false;
    in_half_[first] = false;
    in_half_[second] = true;
    return true;
  }

  std::vector<std::vector<Rank>> out_;
  std::vector<bool> in_half_;
};

}  // namespace

// Starts: the ranks in order, then kStarts more: in turn around a random rank by distance, and at random. The
// result is an upper bound on the width of the bisection, found and not proven: the minimum is NP-hard.
int narrow_bisection(const Topology& topology) {
  Halves halves(topology);
  std::vector<Rank> order(topology.ranks);
  std::iota(order.begin(), order.end(), 0);
  int narrowest = halves.narrowed(order);
  std::mt19937 random(1);
  for (int start = 0; start < kStarts; ++start) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    if (start % 2 == 0) {
      const std::vector<int> far = hops(topology, {order.front()});
      std::ranges::stable_sort(order, {}, [&](Rank rank) { return far[rank]; });
    }
    narrowest = std::min(narrowest, halves.narrowed(order));
  }
  return narrowest;
}

}  // namespace chorale
