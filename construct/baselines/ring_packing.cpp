// The packing is a linear program with a column for each Hamiltonian cycle and a row for each link and limit.
// Columns are generated: the simplex method asks for the cycle that is the cheapest at the dual prices of the
// rows, which dynamic programming over subsets of ranks finds exactly (Held and Karp 1962). A vertex of the
// program has few cycles, and on machines as they are built small denominators: multiplied by a number of
// rounds, its fractions are whole rings.
#include "construct/baselines/ring_packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace chorale {
namespace {

constexpr double kNoPath = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-7;

// Links and limits as rows: first the links, then the limits.
struct RingRows {
  explicit RingRows(const Topology& topology) : topology(topology), of_link(topology.links.size()) {
    for (std::size_t l = 0; l < topology.links.size(); ++l) {
      capacity.push_back(topology.links[l].bandwidth);
      of_link[l].push_back(l);
    }
    for (const SharedLimit& limit : topology.limits) {
      for (const LinkId l : limit.links) of_link[l].push_back(capacity.size());
      capacity.push_back(limit.bandwidth);
    }
  }
  std::vector<double> column(const Ring& ring) const {
    std::vector<double> uses(capacity.size(), 0);
    for (const LinkId l : ring.links)
      for (const std::size_t row : of_link[l]) ++uses[row];
    return uses;
  }
  bool is_usable(LinkId l) const {
    return std::ranges::all_of(of_link[l], [&](std::size_t row) { return capacity[row] > 0; });
  }

  const Topology& topology;
  std::vector<std::vector<std::size_t>> of_link;
  std::vector<double> capacity = {};
};

// By pair of ranks the cheapest link at these prices of rows.
class CheapestRing {
 public:
  CheapestRing(const RingRows& rows, const std::vector<double>& prices)
      : n_(rows.topology.ranks), cost_(n_ * n_, kNoPath), link_(n_ * n_, -1) {
    for (LinkId l = 0; l < std::ssize(rows.topology.links); ++l) {
      if (!rows.is_usable(l)) continue;
      double price = 0;
      for (const std::size_t row : rows.of_link[l]) price += std::max(0.0, prices[row]);
      const Link& link = rows.topology.links[l];
      if (price >= cost_[link.src * n_ + link.dst]) continue;
      cost_[link.src * n_ + link.dst] = price;
      link_[link.src * n_ + link.dst] = l;
    }
  }

  // From the last rank, over paths through each subset of the others; empty if there is no ring.
  Ring find() const {
    const int others = n_ - 1, all = (1 << others) - 1;
    std::vector<double> best((all + 1) * others, kNoPath);
    std::vector<int> before(best.size(), -1);
    for (int last = 0; last < others; ++last) best[(1 << last) * others + last] = cost(others, last);
    for (int set = 1; set <= all; ++set)
      for (int last = 0; last < others; ++last)
        if (const double here = best[set * others + last]; here < kNoPath)
          for (int next = 0; next < others; ++next)
            if ((set >> next & 1) == 0) {
              const int at = (set | 1 << next) * others + next;
              if (here + cost(last, next) < best[at]) {
                best[at] = here + cost(last, next);
                before[at] = last;
              }
            }
    int last = 0;
    const auto closed = [&](int n) { return best[all * others + n] + cost(n, others); };
    for (int n = 1; n < others; ++n)
      if (closed(n) < closed(last)) last = n;
    if (closed(last) == kNoPath) return {};
    Ring ring;
    for (int set = all; last >= 0;) {
      ring.order.push_back(last);
      const int previous = before[set * others + last];
      set &= ~(1 << last);
      last = previous;
    }
    ring.order.push_back(others);
    std::ranges::reverse(ring.order);
    for (int i = 0; i < n_; ++i) ring.links.push_back(link_[ring.order[i] * n_ + ring.order[(i + 1) % n_]]);
    return ring;
  }

 private:
  double cost(int from, int to) const { return cost_[from * n_ + to]; }
  const int n_;
  std::vector<double> cost_;
  std::vector<LinkId> link_;
};

// The revised simplex method with an explicit inverse of the basis, which begins as the slacks of all rows.
// Capacities are perturbed, each by its own millionth, so that no vertex is degenerate.
class RingProgram {
 public:
  explicit RingProgram(const RingRows& rows)
      : rows_(rows), m_(rows.capacity.size()), inverse_(m_ * m_, 0), basis_(m_, -1) {
    for (std::size_t i = 0; i < m_; ++i) {
      inverse_[i * m_ + i] = 1;
      value_.push_back(rows.capacity[i] * (1 + 1e-6 * static_cast<double>((i * 7919 + 1) % 997) / 997));
    }
  }

  // Returns by ring its fraction, in rings per round.
  std::map<int, double> solve() {
    constexpr int kMaxPivots = 2'000;
    for (int pivots = 0; pivots < kMaxPivots && improve(); ++pivots) {
    }
    std::map<int, double> fractions;
    for (std::size_t i = 0; i < m_; ++i)
      if (basis_[i] >= 0 && value_[i] > kTolerance) fractions[basis_[i]] += value_[i];
    return fractions;
  }
  const Ring& ring(int i) const { return rings_[i]; }

 private:
  // A slack with a negative price enters, or the cheapest ring if it costs less than the one that it counts.
  bool improve() {
    std::vector<double> prices(m_, 0);
    for (std::size_t i = 0; i < m_; ++i)
      if (basis_[i] >= 0)
        for (std::size_t j = 0; j < m_; ++j) prices[j] += inverse_[i * m_ + j];
    const std::size_t slack = std::ranges::min_element(prices) - prices.begin();
    std::vector<double> column(m_, 0);
    int entering = -1;
    if (prices[slack] < -kTolerance) {
      column[slack] = 1;
    } else {
      const Ring ring = CheapestRing(rows_, prices).find();
      if (ring.order.empty()) return false;
      column = rows_.column(ring);
      double cost = 0;
      for (std::size_t j = 0; j < m_; ++j) cost += prices[j] * column[j];
      if (cost > 1 - kTolerance) return false;
      entering = static_cast<int>(rings_.size());
      rings_.push_back(ring);
    }
    return pivot(column, entering);
  }
  bool pivot(const std::vector<double>& column, int entering) {
    std::vector<double> change(m_, 0);
    for (std::size_t i = 0; i < m_; ++i)
      for (std::size_t j = 0; j < m_; ++j) change[i] += inverse_[i * m_ + j] * column[j];
    std::size_t leaving = m_;
    for (std::size_t i = 0; i < m_; ++i)
      if (change[i] > kTolerance &&
          (leaving == m_ || value_[i] * change[leaving] < value_[leaving] * change[i]))
        leaving = i;
    if (leaving == m_) return false;
    const double step = value_[leaving] / change[leaving];
    for (std::size_t j = 0; j < m_; ++j) inverse_[leaving * m_ + j] /= change[leaving];
    for (std::size_t i = 0; i < m_; ++i) {
      if (i == leaving || change[i] == 0) continue;
      for (std::size_t j = 0; j < m_; ++j) inverse_[i * m_ + j] -= change[i] * inverse_[leaving * m_ + j];
      value_[i] -= change[i] * step;
    }
    value_[leaving] = step;
    basis_[leaving] = entering;
    return true;
  }

  const RingRows& rows_;
  const std::size_t m_;
  std::vector<double> inverse_;  // m x m
  std::vector<double> value_ = {};
  std::vector<int> basis_;  // [row] -> ring; -1: a slack
  std::vector<Ring> rings_ = {};
};

// Adds rings that what is left of these rounds carries: at each time the one over the emptiest links, until
// there is none. What the rounding down of fractions has left is filled so.
void fill(const RingRows& rows, int rounds, std::vector<Ring>& rings) {
  RingRows left = rows;
  for (double& capacity : left.capacity) capacity *= rounds;
  const auto take = [&](const Ring& ring) {
    const std::vector<double> uses = rows.column(ring);
    for (std::size_t i = 0; i < uses.size(); ++i) left.capacity[i] -= uses[i];
    return std::ranges::all_of(left.capacity, [](double each) { return each >= 0; });
  };
  for (const Ring& ring : rings) take(ring);
  for (;;) {
    std::vector<double> prices;
    for (std::size_t i = 0; i < left.capacity.size(); ++i)
      prices.push_back(std::exp2(-8 * left.capacity[i] / (rows.capacity[i] * rounds)));
    const Ring ring = CheapestRing(left, prices).find();
    if (ring.order.empty() || !take(ring)) return;
    rings.push_back(ring);
  }
}

}  // namespace

int rounds_of(const Topology& topology, const std::vector<Ring>& rings) {
  const RingRows rows(topology);
  std::vector<double> load(rows.capacity.size(), 0);
  for (const Ring& ring : rings)
    for (const LinkId l : ring.links)
      for (const std::size_t row : rows.of_link[l]) ++load[row];
  int rounds = 0;
  for (std::size_t i = 0; i < load.size(); ++i)
    if (load[i] > 0) rounds = std::max(rounds, static_cast<int>(std::ceil(load[i] / rows.capacity[i])));
  return rounds;
}

PackedRings pack_rings(const Topology& topology) {
  constexpr int kMaxRanks = 10, kMaxRounds = 24;
  constexpr double kMaxRings = 128, kEnough = 0.99;  // of the optimum
  constexpr double kSlack = 1e-3;                    // of the perturbed capacities, in rings
  if (topology.ranks < 3 || topology.ranks > kMaxRanks) return {};
  const RingRows rows(topology);
  RingProgram program(rows);
  const std::map<int, double> fractions = program.solve();
  double optimum = 0;
  for (const auto& [ring, fraction] : fractions) optimum += fraction;
  PackedRings best;
  for (int rounds = 1; rounds <= kMaxRounds && best.rate() < kEnough * optimum; ++rounds) {
    PackedRings packed;
    for (const auto& [ring, fraction] : fractions)
      packed.rings.insert(packed.rings.end(),
                          static_cast<int>(std::min(kMaxRings, fraction * rounds + kSlack)),
                          program.ring(ring));
    fill(rows, rounds, packed.rings);
    if (static_cast<double>(packed.rings.size()) > kMaxRings) break;
    packed.rounds = rounds_of(topology, packed.rings);
    if (packed.rate() > best.rate() * 1.001) best = std::move(packed);
  }
  return best;
}

}  // namespace chorale
