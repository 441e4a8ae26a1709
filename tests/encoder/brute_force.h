// The slow obvious answer: all states reachable within a budget, step by step. For a handful of ranks and
// chunks.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ir/collective.h"
#include "ir/instance.h"
#include "ir/topology.h"

namespace chorale {

// [rank][chunk] -> how often each rank's contribution is in the value (copies: at the rank that had it
// first).
using HeldCounts = std::vector<std::vector<std::vector<int>>>;

class BruteForce {
 public:
  BruteForce(const Topology& topology, const Collective& collective)
      : topology_(topology), collective_(collective) {}

  // Is there a schedule of at most these steps and rounds?
  bool possible(const Budget& budget) {
    // least[state]: fewest rounds so far; states after 0, 1, ... steps.
    std::map<HeldCounts, int> least = {{start(), 0}};
    for (int s = 0;; ++s) {
      for (const auto& [state, rounds] : least)
        if (rounds <= budget.rounds && done(state)) return true;
      if (s == budget.steps) return false;
      std::map<HeldCounts, int> next = least;
      for (const auto& [state, rounds] : least)
        for (const auto& [after, more] : steps_from(state, budget.rounds - rounds)) {
          const auto [at, fresh] = next.try_emplace(after, rounds + more);
          if (!fresh) at->second = std::min(at->second, rounds + more);
        }
      least = std::move(next);
    }
  }

 private:
  HeldCounts start() const {
    HeldCounts state(topology_.ranks, std::vector<std::vector<int>>(collective_.chunks.size(),
                                                                    std::vector<int>(topology_.ranks, 0)));
    for (std::size_t c = 0; c < collective_.chunks.size(); ++c)
      for (Rank n : collective_.chunks[c].pre)
        state[n][c][collective_.combining ? n : collective_.chunks[c].pre.front()] = 1;
    return state;
  }

  bool done(const HeldCounts& state) const {
    for (std::size_t c = 0; c < collective_.chunks.size(); ++c) {
      std::vector<int> want(topology_.ranks, 0);
      for (Rank i : collective_.chunks[c].pre)
        if (collective_.combining || i == collective_.chunks[c].pre.front()) want[i] = 1;
      for (Rank d : collective_.chunks[c].post)
        if (state[d][c] != want) return false;
    }
    return true;
  }

  // Every set of sends within `rounds` rounds; combining: with every choice of which receivers drop their own
  // value.
  std::map<HeldCounts, int> steps_from(const HeldCounts& state, int rounds) const {
    std::map<HeldCounts, int> result;
    const int chunks = static_cast<int>(collective_.chunks.size());
    const int links = static_cast<int>(topology_.links.size());
    if (rounds < 1) return result;
    for (unsigned sends = 1; sends < 1u << (links * chunks); ++sends) {
      const int needed = rounds_needed(sends);
      if (needed > rounds) continue;
      for (unsigned drop = 0; drop < (collective_.combining ? 1u << (topology_.ranks * chunks) : 1u);
           ++drop) {
        HeldCounts after = state;
        if (apply(state, sends, drop, after)) {
          const auto [at, fresh] = result.try_emplace(after, needed);
          if (!fresh) at->second = std::min(at->second, needed);
        }
      }
    }
    return result;
  }

  int rounds_needed(unsigned sends) const {
    const int chunks = static_cast<int>(collective_.chunks.size());
    std::vector<int> load(topology_.links.size(), 0);
    for (std::size_t i = 0; i < load.size() * chunks; ++i)
      if (sends >> i & 1) ++load[i / chunks];
    int rounds = 1;
    for (std::size_t l = 0; l < load.size(); ++l)
      rounds = std::max(rounds, (load[l] + topology_.links[l].bandwidth - 1) / topology_.links[l].bandwidth);
    for (const SharedLimit& limit : topology_.limits) {
      int sum = 0;
      for (LinkId l : limit.links) sum += load[l];
      rounds = std::max(rounds, (sum + limit.bandwidth - 1) / limit.bandwidth);
    }
    return rounds;
  }

  bool apply(const HeldCounts& before, unsigned sends, unsigned drop, HeldCounts& after) const {
    const int chunks = static_cast<int>(collective_.chunks.size());
    if (collective_.combining)
      for (Rank n = 0; n < topology_.ranks; ++n)
        for (int c = 0; c < chunks; ++c)
          if (drop >> (n * chunks + c) & 1) std::fill(after[n][c].begin(), after[n][c].end(), 0);
    for (std::size_t i = 0; i < topology_.links.size() * chunks; ++i) {
      if (!(sends >> i & 1)) continue;
      const Link& link = topology_.links[i / chunks];
      const int c = static_cast<int>(i) % chunks;
      const std::vector<int>& value = before[link.src][c];
      if (std::all_of(value.begin(), value.end(), [](int k) { return k == 0; })) return false;
      for (Rank n = 0; n < topology_.ranks; ++n) after[link.dst][c][n] += value[n];
    }
    for (const auto& rank : after)
      for (const auto& value : rank)
        for (int k : value)
          if (k > 1) return false;  // twice the same: never needed by copies, wrong in sums
    return true;
  }

  const Topology& topology_;
  const Collective& collective_;
};

}  // namespace chorale
