// The kit of random machines and communications: what nobody named. Everything comes from the generator that
// is given, so a seed states a case. What a test asks for, it states by the fields of Machines and
// Communications.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale::test {

inline int below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

inline int between(std::mt19937& random, int least, int most) {
  return least + below(random, most - least + 1);
}

// At least this many of the ranks, in order.
inline RankSet some_ranks(std::mt19937& random, int ranks, int at_least = 1) {
  std::vector<Rank> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  for (int i = ranks; i > 1; --i) std::swap(all[i - 1], all[below(random, i)]);
  all.resize(between(random, std::min(at_least, ranks), ranks));
  std::ranges::sort(all);
  return all;
}

struct Machines {
  enum class Joined { OneWayRing, Ring, Tree, Nothing };  // Nothing: some ranks may not be reached

  int least_ranks = 2, most_ranks = 7;
  Joined joined = Joined::OneWayRing;
  int least_links = 0,
      most_links = -1;     // anywhere besides, also parallel ones; -1: fewer than 3 times the ranks
  bool both_ways = false;  // of these, too: as wide in the other direction
  bool parallel = true;
  int widest = 3;       // bandwidths of links and limits
  int most_failed = 0;  // links besides that are gone again
  int most_limits = 3;  // over some links
  bool ports = false;   // and over most of what leaves and what enters a rank
};

inline Topology random_machine(std::mt19937& random, const Machines& of = {}) {
  using Joined = Machines::Joined;
  Topology t{.name = "random", .ranks = between(random, of.least_ranks, of.most_ranks)};
  const auto link = [&](Rank a, Rank b, bool back) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = between(random, 1, of.widest)});
    if (back) t.links.push_back({.src = b, .dst = a, .bandwidth = t.links.back().bandwidth});
  };
  const auto has = [&](Rank a, Rank b) {
    return std::ranges::any_of(t.links, [&](const Link& l) { return l.src == a && l.dst == b; });
  };
  for (Rank n = 0; n < t.ranks; ++n) {
    if (of.joined == Joined::OneWayRing) link(n, (n + 1) % t.ranks, false);
    if (of.joined == Joined::Ring) link(n, (n + 1) % t.ranks, true);
    if (of.joined == Joined::Tree && n > 0) link(n, below(random, n), true);
  }
  const auto joining = t.links.size();
  for (int more = between(random, of.least_links,
                          of.most_links < 0 ? std::max(3 * t.ranks - 1, of.least_links) : of.most_links);
       more > 0; --more) {
    const Rank a = below(random, t.ranks), b = below(random, t.ranks);
    if (a != b && (of.parallel || !has(a, b))) link(a, b, of.both_ways);
  }
  for (int failed = of.most_failed > 0 ? between(random, 0, of.most_failed) : 0;
       failed > 0 && t.links.size() > joining; --failed)
    t.links.erase(t.links.begin() +
                  between(random, static_cast<int>(joining), static_cast<int>(t.links.size()) - 1));
  const auto limit = [&](const char* name, auto counts) {
    SharedLimit over{.name = name, .bandwidth = between(random, 1, of.widest)};
    for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l)
      if (counts(t.links[l])) over.links.push_back(l);
    if (!over.links.empty()) t.limits.push_back(over);
  };
  for (int limits = between(random, 0, of.most_limits); limits > 0; --limits)
    limit("limit", [&](const Link&) { return below(random, 3) == 0; });
  for (Rank n = 0; of.ports && n < t.ranks; ++n) {
    limit("out", [&](const Link& l) { return l.src == n && below(random, 4) > 0; });
    limit("in", [&](const Link& l) { return l.dst == n && below(random, 4) > 0; });
  }
  return t;
}

// Two rings through all ranks in random orders, in both directions, without a link in common: four links out
// of each rank, and four disjoint trees from any.
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

// Three ranks, some links, limits over some of them that can do anything.
inline Topology able_limits(std::mt19937& random) {
  Topology t{.name = "random", .ranks = 3};
  for (Rank a = 0; a < 3; ++a)
    for (Rank b = 0; b < 3; ++b)
      if (a != b && (below(random, 4) > 0 || b == (a + 1) % 3))
        t.links.push_back({.src = a, .dst = b, .bandwidth = 1 + below(random, 2)});
  for (int i = 0; i < 3; ++i) {
    SharedLimit limit{.name = "limit", .bandwidth = 1};
    for (LinkId l = 0; l < std::ssize(t.links); ++l)
      if (below(random, 2) == 0) limit.links.push_back(l);
    limit.abilities = {.multicast = below(random, 2) == 0, .reduce = below(random, 2) == 0};
    if (!limit.links.empty()) t.limits.push_back(limit);
  }
  return t;
}

// Three ranks on one or two switches that can do the same or not.
inline Topology able_switches(std::mt19937& random) {
  Topology t{.name = "switches", .ranks = 3, .switches = 1 + below(random, 2)};
  const auto join = [&](Node a, Node b) {
    const int width = 1 + below(random, 2);
    t.links.push_back({.src = a, .dst = b, .bandwidth = width});
    t.links.push_back({.src = b, .dst = a, .bandwidth = width});
  };
  for (Rank n = 0; n < 3; ++n) join(n, 3 + below(random, t.switches));
  if (t.switches == 2) join(3, 4);
  for (int i = 0; i < t.switches; ++i)
    t.abilities.push_back({.multicast = below(random, 3) > 0, .reduce = below(random, 3) > 0});
  if (below(random, 2) == 0) t.switch_gain = 1 + below(random, 9) / 4.0;
  return t;
}

struct Communications {
  enum class Relation { Any, OneSource, OneDestination };

  std::vector<std::string> names = collective_names();  // with any root; a few custom ones besides
  bool custom = true;
  std::optional<bool> combining = {};  // of custom ones
  int most_per_block = 4;              // chunks, of named ones
  int least_chunks = 1, most_chunks = 6;
  Relation relation = Relation::Any;  // of custom copies; of custom sums, Any
  int alike = 1;                      // this many chunks of custom ones have the same relation, or fewer
  bool unwanted = false;              // some custom chunks nobody needs
};

// Named ones with any root; groups, of which each does its own; any relation, so some chunks are where they
// should be.
inline Collective random_collective(std::mt19937& random, int ranks, const Communications& of = {}) {
  using Relation = Communications::Relation;
  const int names = static_cast<int>(of.names.size());
  const int kind = below(random, names + (!of.custom ? 0 : names > 0 ? names / 3 + 1 : 1));
  if (kind < names) {
    const int blocks =
        of.names[kind] == "allreduce" && of.most_per_block > 1 && below(random, 3) == 0 ? ranks : 1;
    return make_collective(of.names[kind], ranks, blocks * between(random, 1, of.most_per_block),
                           below(random, ranks));
  }
  Collective c{.custom_name = "random",
               .ranks = ranks,
               .combining = of.combining ? *of.combining : below(random, 2) == 0};
  const bool groups = of.relation == Relation::Any && below(random, 3) == 0;
  for (int classes = between(random, of.least_chunks, of.most_chunks); classes > 0; --classes) {
    ChunkSpec spec{.pre = some_ranks(random, ranks), .post = some_ranks(random, ranks)};
    if (!c.combining && of.relation == Relation::OneSource) spec.pre = {below(random, ranks)};
    if (!c.combining && of.relation == Relation::OneDestination) spec.post = {below(random, ranks)};
    if (groups && c.combining) spec.post = spec.pre;
    if (groups && !c.combining) spec.pre = {spec.post[below(random, static_cast<int>(spec.post.size()))]};
    if (of.unwanted && below(random, 10) == 0) spec.post = {};
    for (int i = between(random, 1, of.alike); i > 0; --i) {
      spec.input = spec.output = static_cast<int>(c.chunks.size());
      c.chunks.push_back(spec);
    }
  }
  return c;
}

}  // namespace chorale::test
