// Schedules by hand and at random, so that lowering is tested without its neighbours.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale::test {

// On ring(n) of tests/semantics/machines.h, whose link 2i is i -> i+1. In step s rank i passes on what
// started s places before it. Chunk r*k+j is piece j of rank r.
inline Schedule ring_allgather(int n, int k) {
  Schedule schedule;
  for (int s = 0; s + 1 < n; ++s) {
    Step step{.rounds = k};
    for (Rank i = 0; i < n; ++i)
      for (int j = 0; j < k; ++j) step.sends.push_back({.chunk = (i - s + n) % n * k + j, .link = 2 * i});
    std::ranges::sort(step.sends);
    schedule.steps.push_back(step);
  }
  return schedule;
}

// The sum of chunk r*k+j starts at rank r+1 and goes round until it is complete at r.
inline Schedule ring_reducescatter(int n, int k) {
  Schedule schedule;
  for (int s = 0; s + 1 < n; ++s) {
    Step step{.rounds = k};
    for (Rank i = 0; i < n; ++i)
      for (int j = 0; j < k; ++j)
        step.sends.push_back({.chunk = (i - 1 - s + n) % n * k + j, .link = 2 * i, .reduce = true});
    std::ranges::sort(step.sends);
    schedule.steps.push_back(step);
  }
  return schedule;
}

// One after the other: the vector has n*k chunks.
inline Schedule ring_allreduce(int n, int k) {
  Schedule schedule = ring_reducescatter(n, k);
  for (const Step& step : ring_allgather(n, k).steps) schedule.steps.push_back(step);
  return schedule;
}

// On full(n), n a power of two: in step s partners at distance 2^s add each other's whole vector.
inline Schedule recursive_doubling_allreduce(const Topology& topology, int k) {
  Schedule schedule;
  for (int distance = 1; distance < topology.ranks; distance *= 2) {
    Step step{.rounds = k};
    for (Rank i = 0; i < topology.ranks; ++i)
      for (int c = 0; c < k; ++c)
        step.sends.push_back({.chunk = c, .link = find_link(topology, i, i ^ distance), .reduce = true});
    std::ranges::sort(step.sends);
    schedule.steps.push_back(step);
  }
  return schedule;
}

// Every link moves some chunk that its receiver lacks, until all is delivered: relays, useless copies and
// all.
inline Schedule random_copies(const Topology& topology, const Collective& collective, std::mt19937& random) {
  const int chunks = static_cast<int>(collective.chunks.size());
  std::vector<std::vector<char>> has(chunks, std::vector<char>(topology.ranks, 0));
  for (Chunk c = 0; c < chunks; ++c)
    for (Rank n : collective.chunks[c].pre) has[c][n] = 1;
  const auto done = [&] {
    for (Chunk c = 0; c < chunks; ++c)
      for (Rank n : collective.chunks[c].post)
        if (!has[c][n]) return false;
    return true;
  };
  Schedule schedule;
  while (!done()) {
    Step step;
    auto after = has;
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
      const Link& link = topology.links[l];
      std::vector<Chunk> useful;
      for (Chunk c = 0; c < chunks; ++c)
        if (has[c][link.src] && !after[c][link.dst]) useful.push_back(c);
      for (int b = 0; b < link.bandwidth && !useful.empty(); ++b) {
        const std::size_t pick = random() % useful.size();
        after[useful[pick]][link.dst] = 1;
        step.sends.push_back({.chunk = useful[pick], .link = l});
        useful.erase(useful.begin() + pick);
      }
    }
    std::ranges::sort(step.sends);
    schedule.steps.push_back(step);
    has = after;
  }
  return schedule;
}

// For Reduce and ReduceScatter: copies run backwards. A rank that a chunk was copied to without using it
// would be a dead end of the sum, so every rank must want every chunk in the dual; a Reduce's dual does.
inline Schedule random_sums(const Topology& topology, const Collective& collective, std::mt19937& random) {
  return reversed(random_copies(reversed(topology), dual(collective), random), true);
}

// ReduceScatter, then Allgather, both at random, of a vector of ranks*k chunks.
inline Schedule random_allreduce(const Topology& topology, int k, std::mt19937& random) {
  Schedule schedule = random_sums(topology, make_collective("reducescatter", topology.ranks, k), random);
  for (const Step& step :
       random_copies(topology, make_collective("allgather", topology.ranks, k), random).steps)
    schedule.steps.push_back(step);
  return schedule;
}

}  // namespace chorale::test
