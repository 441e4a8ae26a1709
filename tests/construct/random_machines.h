// Machines that nobody named.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "ir/topology.h"

namespace chorale::test {

inline int below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

// Of two ranks and up to so many more but one: a one-way ring, then links anywhere, also parallel ones, and limits over some,
// fewer than so many.
inline Topology random_machine(std::mt19937& random, int more_ranks = 6, int fewer_limits = 4) {
  Topology t{.name = "random", .ranks = 2 + below(random, more_ranks)};
  const auto link = [&](Rank a, Rank b) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = 1 + below(random, 3)});
  };
  for (Rank n = 0; n < t.ranks; ++n) link(n, (n + 1) % t.ranks);
  for (int more = below(random, 3 * t.ranks); more > 0; --more) {
    const Rank a = below(random, t.ranks), b = below(random, t.ranks);
    if (a != b) link(a, b);
  }
  for (int limits = below(random, fewer_limits); limits > 0; --limits) {
    SharedLimit limit{.name = "limit", .bandwidth = 1 + below(random, 3)};
    for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l)
      if (below(random, 3) == 0) limit.links.push_back(l);
    if (!limit.links.empty()) t.limits.push_back(limit);
  }
  return t;
}

// Two rings through all ranks in random orders, both ways, without a link in common: four links out of each
// rank, and four disjoint trees from any.
inline Topology random_four_regular(std::mt19937& random, int ranks) {
  for (;;) {
    std::set<std::pair<Rank, Rank>> pairs;
    for (int ring = 0; ring < 2; ++ring) {
      std::vector<Rank> order(ranks);
      std::iota(order.begin(), order.end(), 0);
      for (int i = ranks; i > 1; --i) std::swap(order[i - 1], order[below(random, i)]);
      for (int i = 0; i < ranks; ++i) pairs.insert(std::minmax(order[i], order[(i + 1) % ranks]));
    }
    if (std::ssize(pairs) < 2 * ranks) continue;
    Topology t{.name = "four_regular", .ranks = ranks};
    for (const auto& [a, b] : pairs) {
      t.links.push_back({.src = a, .dst = b});
      t.links.push_back({.src = b, .dst = a});
    }
    return t;
  }
}

}  // namespace chorale::test
