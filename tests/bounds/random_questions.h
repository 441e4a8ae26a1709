// Small machines and collectives as they come: odd, uneven, one-way, with limits; chunks of any ranks for any others.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "ir/collective.h"
#include "tests/bounds/machines.h"

namespace chorale {

inline int below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

// A ring with chords, some of them one way, so that everything can be reached; with `limited`, limits over random links.
inline Topology random_machine(std::mt19937& random, int ranks, bool limited) {
  Topology t = ring(ranks);
  for (Link& link : t.links) link.bandwidth = 1 + below(random, 4);
  for (int i = below(random, 2 * ranks); i > 0; --i) {
    const Rank a = below(random, ranks), b = below(random, ranks);
    if (a != b && find_link(t, a, b) < 0) add_link(t, a, b, 1 + below(random, 4));
  }
  if (!limited) return t;
  for (int z = 1 + below(random, 5); z > 0; --z) {
    std::set<LinkId> links;
    const Rank one = below(random, ranks);
    const bool port = below(random, 2) == 0;
    for (int l = 0; l < static_cast<int>(t.links.size()); ++l)
      if (port ? t.links[l].src == one : below(random, 4) == 0) links.insert(l);
    if (links.size() > 1)
      t.limits.push_back(
          {.name = "limit", .links = {links.begin(), links.end()}, .bandwidth = 1 + below(random, 5)});
  }
  return t;
}

inline RankSet some_ranks(std::mt19937& random, int ranks, int at_least) {
  std::vector<Rank> all(ranks);
  for (Rank n = 0; n < ranks; ++n) all[n] = n;
  std::shuffle(all.begin(), all.end(), random);
  all.resize(at_least + below(random, ranks - at_least + 1));
  return all;
}

// Groups that do the same, or chunks of any ranks for any others.
inline Collective random_collective(std::mt19937& random, int ranks) {
  const bool combining = below(random, 2) == 0;
  Collective c{.custom_name = "random", .ranks = ranks, .combining = combining};
  for (int i = 1 + below(random, 4); i > 0; --i) {
    const RankSet pre = combining ? some_ranks(random, ranks, 2) : RankSet{below(random, ranks)};
    RankSet post = some_ranks(random, ranks, 1);
    if (combining && below(random, 2) == 0) post = pre;
    for (int k = 1 + below(random, 3); k > 0; --k)
      c.chunks.push_back({.pre = below(random, 5) == 0 ? some_ranks(random, ranks, 2) : pre, .post = post});
  }
  return c;
}

}  // namespace chorale
