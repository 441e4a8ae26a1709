// Paths of rank 0 are found, and all other ranks do the same, carried by the group. A path is a multiset of
// links out of one rank, in any order, since the translations of such a group commute: which step has which
// link is an edge colouring (edge_colours).
#include "construct/exact/regular_alltoall.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "construct/engine/network.h"
#include "construct/engine/solved_question.h"
#include "graph/automorphisms.h"
#include "graph/max_flow.h"

namespace chorale {

// An edge colouring of a bipartite multigraph, items against kinds, with colours of even size (de Werra
// 1971): steps are colours. One colour after the other is a flow: an item with as many uses left as steps
// must use something now, and a kind with more uses left than later steps carry must be used. If uses are
// even among steps as fractions, that is a flow, so there is an integral one, and what is left is again even.

std::optional<std::vector<std::vector<int>>> edge_colours(std::vector<std::vector<int>> uses,
                                                          const std::vector<int>& widths, int steps,
                                                          int rounds) {
  const int items = static_cast<int>(uses.size()), kinds = static_cast<int>(widths.size());
  std::vector<std::vector<int>> chosen(items, std::vector<int>(steps, -1));
  std::vector<long long> left(kinds, 0);  // uses of each kind
  for (const std::vector<int>& of : uses)
    for (int k = 0; k < kinds; ++k) left[k] += of[k];
  for (int s = 0; s < steps; ++s) {
    // Rounds that are left are divided evenly over the steps that are left, the larger parts first.
    const int after = steps - s - 1, now = (rounds + after) / (after + 1);
    rounds -= now;
    // A flow from `out` to `in` and back with lower bounds: what must flow comes from `must` and ends in
    // `done`.
    // An item has one unit: from `must` if it has to use something now, else from `out`. A kind has to be
    // used `least` times, as later steps cannot carry more than the rest, and at most `most` times. A lower
    // bound on an arc a -> b is an arc must -> b and an arc a -> done.
    const int out = items + kinds, in = out + 1, must = out + 2, done = out + 3;
    MaxFlow flow(done + 1);
    std::int64_t wanted = 0, of_items = 0, of_kinds = 0;
    std::vector<std::pair<int, std::pair<int, int>>> arcs;
    for (int x = 0; x < items; ++x) {
      const int uses_left = std::accumulate(uses[x].begin(), uses[x].end(), 0);
      if (uses_left > after + 1) return std::nullopt;
      const bool has_to = uses_left == after + 1;
      flow.add_arc(has_to ? must : out, x, 1);
      of_items += has_to;
      for (int k = 0; k < kinds; ++k)
        if (uses[x][k] > 0) arcs.push_back({flow.add_arc(x, items + k, 1), {x, k}});
    }
    for (int k = 0; k < kinds; ++k) {
      const long long most = static_cast<long long>(widths[k]) * now;
      const long long least = std::max(0LL, left[k] - static_cast<long long>(widths[k]) * rounds);
      if (least > most) return std::nullopt;
      flow.add_arc(items + k, done, least);
      flow.add_arc(items + k, in, most - least);
      of_kinds += least;
    }
    wanted = of_items + of_kinds;
    flow.add_arc(out, done, of_items);
    flow.add_arc(must, in, of_kinds);
    flow.add_arc(in, out, wanted + items);
    if (flow.run(must, done) != wanted) return std::nullopt;
    for (const auto& [arc, use] : arcs)
      if (flow.flow(arc) > 0) {
        chosen[use.first][s] = use.second;
        --uses[use.first][use.second];
        --left[use.second];
      }
  }
  return chosen;
}

namespace {

constexpr int kPasses = 3;  // over all paths, which are chosen again when all are known

// The machine as rank 0 sees it: its links are the kinds, and each other rank has one link of each kind,
// carried from there by the one element that carries rank 0 to it.
class Translations {
 public:
  Translations(const Topology& topology, const std::vector<std::vector<Rank>>& group)
      : topology_(topology), group_(group), orbits_(topology, group), element_(topology.ranks) {
    for (int g = 0; g < topology.ranks; ++g) element_[group[g][0]] = g;
    for (LinkId l = 0; l < std::ssize(topology.links); ++l)
      if (topology.links[l].src == 0) kinds_.push_back(l);
  }

  int kinds() const { return static_cast<int>(kinds_.size()); }  // of links: those out of rank 0
  int width(int kind) const { return topology_.links[kinds_[kind]].bandwidth; }
  // Where the link of a kind leads from a rank, if an element carries all of it.
  Rank behind(Rank n, int kind) const { return group_[element_[n]][topology_.links[kinds_[kind]].dst]; }
  LinkId link(Rank n, int kind) const { return orbits_.image(kinds_[kind], element_[n]); }
  LinkId image(LinkId l, int element) const { return orbits_.image(l, element); }

 private:
  const Topology& topology_;
  const std::vector<std::vector<Rank>>& group_;
  const LinkOrbits orbits_;
  std::vector<int> element_ = {};  // that carries rank 0 to a rank
  std::vector<LinkId> kinds_ = {};
};

// How often the path of each chunk of rank 0 uses each kind: shortest paths, over the kind that carries
// least. A path is walked from rank 0, each hop by a kind that comes nearer. A further pass takes each path
// out first, so that it meets the loads of all others.
std::vector<std::vector<int>> balanced(const Translations& machine, const std::vector<Rank>& targets,
                                       const std::vector<std::vector<int>>& hops_to, std::vector<int>& load) {
  std::vector<std::vector<int>> uses(targets.size(), std::vector<int>(machine.kinds(), 0));
  load.assign(machine.kinds(), 0);
  for (int pass = 0; pass < kPasses; ++pass)
    for (std::size_t x = 0; x < targets.size(); ++x) {
      const std::vector<int>& far = hops_to[targets[x]];
      for (int k = 0; k < machine.kinds(); ++k) load[k] -= std::exchange(uses[x][k], 0);
      for (Rank n = 0; n != targets[x];) {
        int best = -1;
        for (int k = 0; k < machine.kinds(); ++k)
          if (far[machine.behind(n, k)] == far[n] - 1 &&
              (best < 0 || (load[k] + 1LL) * machine.width(best) < (load[best] + 1LL) * machine.width(k)))
            best = k;
        ++uses[x][best];
        ++load[best];
        n = machine.behind(n, best);
      }
    }
  return uses;
}

}  // namespace

std::vector<Schedule> regular_alltoall(const Topology& topology, const Collective& collective,
                                       const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::Alltoall || !topology.limits.empty() || topology.ranks < 2 ||
      (stop != nullptr && *stop))
    return {};
  const std::vector<std::vector<Rank>> group = digit_shifts(topology);
  if (std::ssize(group) != topology.ranks) return {};
  const Translations machine(topology, group);
  const HopCounts backwards(reversed(topology));
  std::vector<std::vector<int>> hops_to = {{}};
  std::vector<Rank> targets;  // of the chunks of rank 0
  int steps = 0;
  for (Rank to = 1; to < topology.ranks; ++to) {
    hops_to.push_back(backwards.from({to}));
    if (hops_to[to][0] < 0) return {};
    steps = std::max(steps, hops_to[to][0]);
    targets.insert(targets.end(), collective.chunks_per_block, to);
  }
  std::vector<int> load, widths;
  std::vector<std::vector<int>> uses = balanced(machine, targets, hops_to, load);
  // A round for each step, at least, and as many as the fullest kind needs.
  int rounds = steps;
  for (int k = 0; k < machine.kinds(); ++k) {
    widths.push_back(machine.width(k));
    rounds = std::max(rounds, (load[k] + widths[k] - 1) / widths[k]);
  }
  const auto colours = edge_colours(std::move(uses), widths, steps, rounds);
  if (!colours) return {};
  Schedule schedule{.steps = std::vector<Step>(steps)};
  for (std::size_t x = 0; x < targets.size(); ++x) {
    const int number = static_cast<int>(x) % collective.chunks_per_block;
    Rank n = 0;
    for (int s = 0; s < steps; ++s) {
      const int kind = (*colours)[x][s];
      if (kind < 0) continue;
      for (int g = 0; g < topology.ranks; ++g) {
        // The chunk from g(0) to g(x) does what that from 0 to x does, carried by g.
        const int pair = group[g][0] * topology.ranks + group[g][targets[x]];
        schedule.steps[s].sends.push_back({.chunk = pair * collective.chunks_per_block + number,
                                           .link = machine.image(machine.link(n, kind), g)});
      }
      n = machine.behind(n, kind);
    }
  }
  return {tidy_sums(topology, collective, std::move(schedule))};
}

}  // namespace chorale
