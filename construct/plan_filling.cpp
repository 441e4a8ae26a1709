// First the receivers of each chunk are chosen, then the senders: a step is a matching of deliveries with
// what ranks can send, found by augmenting paths, so a step fails only if its receivers cannot be served at
// all. Choosing senders one after the other has no such certainty, and the solver, given the same counts as a
// formula, needed minutes for what this finds in milliseconds (Broadcast on dgx2).
#include "construct/plan_filling.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "semantics/verify.h"

namespace chorale {
namespace {

struct Delivery {
  Chunk chunk = 0;
  Rank to = 0;
};

class PlanFilling {
 public:
  PlanFilling(const Topology& topology, const Collective& collective, unsigned seed)
      : topology_(topology),
        collective_(collective),
        random_(seed),
        links_(static_cast<std::size_t>(topology.ranks) * topology.ranks, -1),
        has_(collective.chunks.size() * topology.ranks, false),
        held_(topology.ranks, 0) {
    for (std::size_t l = 0; l < topology.links.size(); ++l)
      links_[pair(topology.links[l].src, topology.links[l].dst)] = static_cast<LinkId>(l);
    for (std::size_t c = 0; c < collective.chunks.size(); ++c)
      for (Rank n : collective.chunks[c].pre) give({.chunk = static_cast<Chunk>(c), .to = n});
  }

  bool step(int rounds, const std::vector<int>& copies, Step& step) {
    step.rounds = rounds;
    std::vector<Delivery> deliveries;
    if (!choose_receivers(copies, deliveries)) return false;
    std::vector<Rank> senders;
    if (!match_senders(deliveries, rounds, senders)) return false;
    for (std::size_t i = 0; i < deliveries.size(); ++i) {
      step.sends.push_back(
          {.chunk = deliveries[i].chunk, .link = links_[pair(senders[i], deliveries[i].to)]});
      give(deliveries[i]);
    }
    std::sort(step.sends.begin(), step.sends.end());
    return true;
  }

 private:
  std::size_t pair(Rank a, Rank b) const { return static_cast<std::size_t>(a) * topology_.ranks + b; }
  std::size_t at(Chunk c, Rank n) const { return static_cast<std::size_t>(c) * topology_.ranks + n; }
  void give(const Delivery& d) {
    has_[at(d.chunk, d.to)] = true;
    ++held_[d.to];
  }

  // The ranks that will hold least get the next copy, counting what this step has given them already. False
  // where a chunk has fewer ranks left that need it than the plan gives it to.
  bool choose_receivers(const std::vector<int>& copies, std::vector<Delivery>& deliveries) {
    std::vector<int> will_hold = held_;
    std::vector<Chunk> chunks(copies.size());
    std::iota(chunks.begin(), chunks.end(), 0);
    std::shuffle(chunks.begin(), chunks.end(), random_);
    for (Chunk c : chunks) {
      std::vector<Rank> open;
      for (Rank n : collective_.chunks[c].post)
        if (!has_[at(c, n)]) open.push_back(n);
      if (static_cast<int>(open.size()) < copies[c]) return false;
      std::shuffle(open.begin(), open.end(), random_);
      std::stable_sort(open.begin(), open.end(), [&](Rank a, Rank b) { return will_hold[a] < will_hold[b]; });
      for (int i = 0; i < copies[c]; ++i) {
        deliveries.push_back({.chunk = c, .to = open[i]});
        ++will_hold[open[i]];
      }
    }
    return true;
  }

  // Kuhn's algorithm; a sender has as many slots as it can send in the step: its links' bandwidth, or a limit
  // over links of its own. Capacities of single links, and limits at the receiver, are left to the verifier
  // at the end: another try is cheap. Deliveries of this step take effect only when all are matched, so no
  // rank passes on what arrives in the step.
  bool match_senders(const std::vector<Delivery>& deliveries, int rounds, std::vector<Rank>& senders) {
    std::vector<int> places(topology_.ranks, 0);
    for (const Link& link : topology_.links) places[link.src] += rounds * link.bandwidth;
    for (const SharedLimit& limit : topology_.limits) {
      const Rank source = topology_.links[limit.links.front()].src;
      const bool of_one = std::all_of(limit.links.begin(), limit.links.end(),
                                      [&](LinkId l) { return topology_.links[l].src == source; });
      if (of_one) places[source] = std::min(places[source], rounds * limit.bandwidth);
    }
    senders.assign(deliveries.size(), -1);
    std::vector<std::vector<std::size_t>> served(topology_.ranks);
    std::vector<Rank> order(topology_.ranks);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<bool> visited;
    // A slot for delivery d, if necessary by moving others. A rank is visited once a search: if none of what
    // it serves could be moved, none can.
    const auto place = [&](const auto& self, std::size_t d) -> bool {
      for (Rank n : order) {
        if (visited[n] || !has_[at(deliveries[d].chunk, n)] || links_[pair(n, deliveries[d].to)] < 0)
          continue;
        visited[n] = true;
        if (static_cast<int>(served[n].size()) < places[n]) {
          served[n].push_back(d);
          senders[d] = n;
          return true;
        }
        for (std::size_t& other : served[n])
          if (self(self, other)) {
            other = d;
            senders[d] = n;
            return true;
          }
      }
      return false;
    };
    for (std::size_t d = 0; d < deliveries.size(); ++d) {
      visited.assign(topology_.ranks, false);
      if (!place(place, d)) return false;
    }
    return true;
  }

  const Topology& topology_;
  const Collective& collective_;
  std::mt19937 random_;
  std::vector<LinkId> links_;  // by source and destination; of parallel ones the last
  std::vector<bool> has_;      // by chunk and rank
  std::vector<int> held_;      // by rank
};

}  // namespace

// What the matching leaves open (single links, limits at the receiver) is decided by the verifier, for the
// whole schedule.
std::optional<Schedule> fill_plan(const Topology& topology, const Collective& collective,
                                  const GrowthPlan& plan, unsigned seed) {
  PlanFilling filling(topology, collective, seed);
  Schedule schedule;
  for (std::size_t s = 0; s < plan.rounds.size(); ++s) {
    Step step;
    if (!filling.step(plan.rounds[s], plan.copies[s], step)) return std::nullopt;
    schedule.steps.push_back(std::move(step));
  }
  if (!violations(topology, collective, schedule).empty()) return std::nullopt;
  return tidy(topology, collective, std::move(schedule));
}

}  // namespace chorale
