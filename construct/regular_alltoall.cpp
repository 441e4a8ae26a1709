// Paths of rank 0 are found, and all other ranks do the same, carried by the group. A path is a multiset of
// links out of one rank, in any order, since the translations of such a group commute: which step has which
// link is an edge colouring (edge_colours.h).
#include "construct/regular_alltoall.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "construct/edge_colours.h"
#include "construct/jobs.h"
#include "construct/link_orbits.h"
#include "graph/free_symmetries.h"

namespace chorale {
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
