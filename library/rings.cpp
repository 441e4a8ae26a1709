#include "library/rings.h"

#include <algorithm>
#include <limits>
#include <set>

namespace chorale {
namespace {

// Capacity left between each pair of ranks, in chunks per round.
struct Capacity {
  int ranks = 0;
  std::vector<int> between = {};
  int& at(Rank a, Rank b) { return between[a * ranks + b]; }
  int at(Rank a, Rank b) const { return between[a * ranks + b]; }
};

Capacity capacity_of(const Topology& topology) {
  Capacity capacity{.ranks = topology.ranks, .between = std::vector<int>(topology.ranks * topology.ranks, 0)};
  for (const Link& link : topology.links) capacity.at(link.src, link.dst) += link.bandwidth;
  return capacity;
}

// Depth first from rank 0, next to the rank with the fewest ways on (Warnsdorff's rule), ties by rank.
class HamiltonianSearch {
 public:
  HamiltonianSearch(const Capacity& capacity, int width)
      : ranks_(capacity.ranks), next_(ranks_), used_(ranks_) {
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
  bool extend() {
    const Rank last = order_.back();
    if (static_cast<int>(order_.size()) == ranks_) return std::ranges::count(next_[last], 0) > 0;
    if (--effort_ < 0) return false;
    std::vector<std::pair<int, Rank>> candidates;
    for (Rank n : next_[last])
      if (!used_[n])
        candidates.push_back(
            {static_cast<int>(std::ranges::count_if(next_[n], [&](Rank m) { return !used_[m]; })), n});
    std::ranges::sort(candidates);
    for (const auto& [ways, n] : candidates) {
      order_.push_back(n);
      used_[n] = true;
      if (extend()) return true;
      used_[n] = false;
      order_.pop_back();
    }
    return false;
  }

  const int ranks_;
  std::vector<std::vector<Rank>> next_;
  std::vector<bool> used_;
  Order order_;
  long effort_ = 100'000;
};

Order widest_ring(const Capacity& capacity) {
  if (capacity.ranks == 1) return {0};
  std::set<int, std::greater<>> widths(capacity.between.begin(), capacity.between.end());
  for (int width : widths)
    if (width > 0)
      if (Order order = HamiltonianSearch(capacity, width).find(); !order.empty()) return order;
  return {};
}

// How many copies of this ring the links and what is left of the limits carry; takes them away.
int take(const Topology& topology, const Order& order, Capacity& capacity, std::vector<int>& limits) {
  int copies = std::numeric_limits<int>::max();
  const int n = capacity.ranks;
  for (int i = 0; i < n; ++i) copies = std::min(copies, capacity.at(order[i], order[(i + 1) % n]));
  std::vector<int> uses(limits.size(), 0);
  for (std::size_t k = 0; k < limits.size(); ++k) {
    std::set<std::pair<Rank, Rank>> limited;
    for (LinkId l : topology.limits[k].links) limited.insert({topology.links[l].src, topology.links[l].dst});
    for (int i = 0; i < n; ++i) uses[k] += static_cast<int>(limited.count({order[i], order[(i + 1) % n]}));
    if (uses[k] > 0) copies = std::min(copies, limits[k] / uses[k]);
  }
  for (int i = 0; i < n; ++i) capacity.at(order[i], order[(i + 1) % n]) -= copies;
  for (std::size_t k = 0; k < limits.size(); ++k) limits[k] -= copies * uses[k];
  return copies;
}

std::vector<Order> turned_round(std::vector<Order> rings) {
  for (Order& ring : rings) std::reverse(ring.begin(), ring.end());
  return rings;
}

}  // namespace

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

Plan ring_reducescatter(const std::vector<Order>& rings, int chunks) {
  return backwards(ring_allgather(turned_round(rings), chunks), true);
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
  std::vector<Order> rings;
  Capacity capacity = capacity_of(topology);
  std::vector<int> limits;
  for (const SharedLimit& limit : topology.limits) limits.push_back(limit.bandwidth);
  if (topology.ranks == 1) return {{0}};
  while (true) {
    const Order ring = widest_ring(capacity);
    if (ring.empty()) return rings;
    const int copies = take(topology, ring, capacity, limits);
    if (copies == 0) return rings.empty() ? std::vector<Order>{ring} : rings;
    rings.insert(rings.end(), copies, ring);
  }
}

}  // namespace chorale
