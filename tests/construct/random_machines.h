// Machines that nobody named.
#pragma once

#include <random>

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

}  // namespace chorale::test
