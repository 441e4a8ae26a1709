// A ring through all ranks is a Hamiltonian cycle, searched for among links of the largest width that has one, with a fixed
// effort. Next to the nearest rank first, so that a node is done before the next one is begun.
//
// A ring that was found is taken the other way round, too, before the rest is searched: torus:8x8 has two rings so instead of
// one, hypercube:6 four instead of two; torus:4x4 loses one of three.
#include "construct/rings.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace chorale {
namespace {

// Capacity left between each pair of ranks, in chunks per round, over all their parallel links, and the alpha
// of one of these.
struct Capacity {
  int ranks = 0;
  std::vector<int> between = {};
  std::vector<double> alpha_us = {};
  int& at(Rank a, Rank b) { return between[a * ranks + b]; }
  int at(Rank a, Rank b) const { return between[a * ranks + b]; }
};

Capacity capacity_of(const Topology& topology) {
  const std::size_t pairs = static_cast<std::size_t>(topology.ranks) * topology.ranks;
  Capacity capacity{.ranks = topology.ranks,
                    .between = std::vector<int>(pairs, 0),
                    .alpha_us = std::vector<double>(pairs, 0)};
  for (const Link& link : topology.links) {
    capacity.at(link.src, link.dst) += link.bandwidth;
    capacity.alpha_us[link.src * topology.ranks + link.dst] = link.alpha_us;
  }
  return capacity;
}

// Depth first from rank 0, next to the nearest rank (all of a node before the next node), of these to the one
// with the fewest ways on (Warnsdorff's rule), of these to the first.
class HamiltonianSearch {
 public:
  HamiltonianSearch(const Capacity& capacity, int width)
      : ranks_(capacity.ranks), alpha_us_(capacity.alpha_us), next_(ranks_), used_(ranks_) {
    for (Rank a = 0; a < ranks_; ++a)
      for (Rank b = 0; b < ranks_; ++b)
        if (a != b && capacity.at(a, b) >= width) next_[a].push_back(b);
  }

  Order find() {
    order_ = {0};
    used_[0] = true;
    return extend() ? order_ : Order{};
  }

 private:
  // A beginning of a ring, made longer by one; taken back where it leads nowhere. Without effort none is made
  // longer.
  bool extend() {
    const Rank last = order_.back();
    if (static_cast<int>(order_.size()) == ranks_) return std::ranges::count(next_[last], 0) > 0;
    if (--effort_ < 0) return false;
    std::vector<std::tuple<double, long, Rank>> candidates;
    for (Rank n : next_[last])
      if (!used_[n])
        candidates.push_back({alpha_us_[last * ranks_ + n],
                              std::ranges::count_if(next_[n], [&](Rank m) { return !used_[m]; }), n});
    std::ranges::sort(candidates);
    for (const auto& [alpha, ways, n] : candidates) {
      order_.push_back(n);
      used_[n] = true;
      if (extend()) return true;
      used_[n] = false;
      order_.pop_back();
    }
    return false;
  }

  const int ranks_;
  const std::vector<double>& alpha_us_;
  std::vector<std::vector<Rank>> next_;
  std::vector<bool> used_;
  Order order_;
  long effort_ = 100'000;  // ranks that may still be gone on from; the same on every machine
};

// From the widest links down: the first width at which a ring is found. Each has its own effort.
Order widest_ring(const Capacity& capacity) {
  if (capacity.ranks == 1) return {0};
  std::set<int, std::greater<>> widths(capacity.between.begin(), capacity.between.end());
  for (int width : widths)
    if (width > 0)
      if (Order order = HamiltonianSearch(capacity, width).find(); !order.empty()) return order;
  return {};
}

// What rings have left of a machine: of its links, and of its shared limits.
class Machine {
 public:
  explicit Machine(const Topology& topology) : left_(capacity_of(topology)) {
    for (const SharedLimit& limit : topology.limits) {
      Limit& l = limits_.emplace_back(Limit{.left = limit.bandwidth});
      for (LinkId id : limit.links) l.pairs.insert({topology.links[id].src, topology.links[id].dst});
    }
  }

  // A limit lets no more through a link than it has left; but a ring may go through it several times, and one
  // that does so too often for one round may still be found.
  Order widest() const {
    Capacity usable = left_;
    for (const Limit& limit : limits_)
      for (const auto& [a, b] : limit.pairs) usable.at(a, b) = std::min(usable.at(a, b), limit.left);
    return widest_ring(usable);
  }

  // Takes the ring as often as there is room for it in one round; returns how often.
  int take(const Order& order) {
    int copies = std::numeric_limits<int>::max();
    for (const auto& [a, b] : edges(order)) copies = std::min(copies, left_.at(a, b));
    for (const Limit& limit : limits_)
      if (const int uses = limit.uses(order); uses > 0) copies = std::min(copies, limit.left / uses);
    for (const auto& [a, b] : edges(order)) left_.at(a, b) -= copies;
    for (Limit& limit : limits_) limit.left -= copies * limit.uses(order);
    return copies;
  }

 private:
  using Pair = std::pair<Rank, Rank>;
  struct Limit {
    std::set<Pair> pairs = {};
    int left = 0;
    int uses(const Order& order) const {
      const std::vector<Pair> ring = edges(order);
      return static_cast<int>(
          std::ranges::count_if(ring, [this](const Pair& p) { return pairs.contains(p); }));
    }
  };

  static std::vector<Pair> edges(const Order& order) {
    std::vector<Pair> result;
    for (std::size_t i = 0; i < order.size(); ++i)
      result.push_back({order[i], order[(i + 1) % order.size()]});
    return result;
  }

  Capacity left_;
  std::vector<Limit> limits_;
};

Order turned_round(Order ring) {
  std::reverse(ring.begin(), ring.end());
  return ring;
}

}  // namespace

// Step s, place i of the ring: passes on the block of place i - s, which it got in step s - 1 (in step 0 its
// own). Every link carries one chunk in every step for each that goes round its ring.
Plan ring_allgather(const std::vector<Order>& rings, int chunks) {
  Plan plan;
  const int n = static_cast<int>(rings[0].size());
  for (int i = 0; i < chunks; ++i) {
    const Order& ring = rings[i % rings.size()];
    for (int s = 0; s < n - 1; ++s)
      for (int at = 0; at < n; ++at)  // what was its own s steps before comes from behind
        add(plan, s,
            {.chunk = ring[(at - s + n) % n] * chunks + i, .src = ring[at], .dst = ring[(at + 1) % n]});
  }
  return plan;
}

// Turned twice, the rings and the plan, so data flow as in the Allgather.
Plan ring_reducescatter(const std::vector<Order>& rings, int chunks) {
  std::vector<Order> turned;
  for (const Order& ring : rings) turned.push_back(turned_round(ring));
  return backwards(ring_allgather(turned, chunks), true);
}

int ring_width(const Topology& topology, const Order& order) {
  if (order.size() == 1) return 1;
  const Capacity capacity = capacity_of(topology);
  int width = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < order.size(); ++i)
    width = std::min(width, capacity.at(order[i], order[(i + 1) % order.size()]));
  return width;
}

Order widest_ring(const Topology& topology) {
  return widest_ring(capacity_of(topology));
}

std::vector<Order> ring_decomposition(const Topology& topology) {
  if (topology.ranks == 1) return {{0}};
  std::vector<Order> rings;
  Machine machine(topology);
  for (Order ring = machine.widest(); !ring.empty(); ring = machine.widest()) {
    const int copies = machine.take(ring);
    // A ring for which a round has no room: alone it may still be of use, in more rounds.
    if (copies == 0) return rings.empty() ? std::vector<Order>{ring} : rings;
    rings.insert(rings.end(), copies, ring);
    // Machines are mostly symmetric; searching for what is left of one used one way is harder.
    ring = turned_round(ring);
    rings.insert(rings.end(), machine.take(ring), ring);
  }
  return rings;
}

}  // namespace chorale
