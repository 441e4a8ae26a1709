// A model of the plain formula as a schedule: a step for each that sends anything, with the rounds that its
// sends need. Whether the schedule is right is the verifier's to decide.
#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "semantics/plain_formula.h"

namespace chorale {
namespace {

// The fewest that carry them.
// The model's rounds may be more than are needed, since counters are implied in one direction only.
int rounds_for(const Topology& topology, const std::vector<Send>& sends) {
  long long rounds = 1;
  const auto carry = [&](std::span<const LinkId> links, long long bandwidth, const Abilities& abilities) {
    std::set<std::tuple<Chunk, int, int>> values;
    for (const Send& send : sends) {
      if (std::ranges::count(links, send.link) == 0) continue;
      const Link& link = topology.links[send.link];
      if (!abilities.any())
        values.insert({send.chunk, 0, send.link});
      else if (abilities.reduce && (send.reduce || !abilities.multicast))
        values.insert({send.chunk, 1, link.dst});
      else
        values.insert({send.chunk, 2, link.src});
    }
    const long long load = std::ssize(values);
    if (load > 0) rounds = std::max(rounds, (load + bandwidth - 1) / bandwidth);
  };
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    carry(std::span(&l, 1), topology.links[l].bandwidth, {});
  for (const SharedLimit& limit : topology.limits) carry(limit.links, limit.bandwidth, limit.abilities);
  return static_cast<int>(rounds);
}

}  // namespace

Schedule PlainFormula::schedule(const Assignment& model) const {
  Schedule result;
  for (int s = 1; s <= budget_.steps; ++s) {
    Step step;
    for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c)
      for (Rank n = 0; n < topology_.ranks; ++n) {
        // If nothing is kept, the first to arrive replaces what was there and the others are added to it.
        // Which one is the first does not matter: the sum is the same.
        bool add = contributions(c) > 1 && model[keep(c, n, s)];
        for (LinkId l : into_[n])
          if (model[send(c, l, s)]) {
            if (const auto copy = copy_.find({c, l, s}); copy != copy_.end()) add = !model[copy->second];
            step.sends.push_back({.chunk = c, .link = l, .reduce = add});
            add = contributions(c) > 1;
          }
      }
    if (step.sends.empty()) continue;
    step.rounds = rounds_for(topology_, step.sends);
    std::ranges::sort(step.sends);
    result.steps.push_back(std::move(step));
  }
  return result;
}

}  // namespace chorale
