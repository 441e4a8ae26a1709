// List scheduling. A step is filled send by send while there is room for it in a given number of rounds (its
// width); its rounds are then what its fullest link or limit needs. Narrow steps pack well and are many; with
// steps as wide as need be, a chunk moves in every step, and there are as few as the longest route has links.
// So the widths 1, 2, 4, ... give the trade between steps and rounds, and bisection the narrowest width for
// the fewest steps.
//
// A chunk goes along a tree of shortest ways. Chunks are routed one after the other, and each sees what those
// before it have left: the price of a link is the rounds that it and the limits over it would need with this
// chunk as well, so the sum of squares of the loads is what is kept small.
//
// Which send comes first: the one with the longest way still behind it; then the nearest rank by number, which
// on machines where all is linked with all makes the sends of a step a shift, hence all ports equally full.
//
// Invariants: a walk back from a destination stops at the first rank that has the chunk or is on its tree, and
// every step of it comes nearer to a rank that has it, so the links are a forest; whoever sends has held the
// chunk since an earlier step. A step has a send as long as one is wanted, since the route to the wanting rank
// begins at one that has it.
//
// What lost: a width for each step (geometric growth) needs the number of steps beforehand; scanning all chunks
// of all links in every step costs far more than the queues here; longer ways where links are full, and chunks
// from any rank that has them, since packings (construct/engine.h) do that better.
#include "construct/spreading.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "construct/load.h"

namespace chorale {
namespace {

constexpr int kAnyWidth = std::numeric_limits<int>::max();

// By chunk the links of a forest: its roots have the chunk, and the link into a rank stands before those out of it.
using Routes = std::vector<std::vector<LinkId>>;

class Router {
 public:
  Router(const Topology& topology, const Effort& effort)
      : topology_(topology),
        effort_(effort),
        load_(topology),
        into_(topology.ranks),
        on_tree_(topology.ranks, -1) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      into_[topology.links[l].dst].push_back(l);
  }

  std::optional<Routes> shortest(const Collective& copies) {
    std::map<RankSet, std::vector<int>> known;
    Routes routes;
    for (const ChunkSpec& spec : copies.chunks) {
      if (effort_.stopped()) return std::nullopt;
      const auto [at, fresh] = known.try_emplace(spec.pre);
      if (fresh) at->second = hops(topology_, spec.pre);
      const std::vector<int>& distance = at->second;
      // Nearest first, so that those farther away find a tree to come to. What cannot be reached is -1 hops
      // away, hence first of all.
      std::vector<Rank> nearest_first(spec.post.begin(), spec.post.end());
      std::ranges::stable_sort(nearest_first, {}, [&](Rank n) { return distance[n]; });
      if (!nearest_first.empty() && distance[nearest_first.front()] < 0) return std::nullopt;
      routes.push_back(tree(spec.pre, nearest_first, distance));
    }
    return routes;
  }

 private:
  // Walks back from each destination until it is on the tree. A branch is
  // found leaf first and turned round, so that the link into a rank stands before those out of it.
  std::vector<LinkId> tree(const RankSet& sources, const std::vector<Rank>& destinations,
                           const std::vector<int>& distance) {
    ++trees_;
    for (Rank n : sources) on_tree_[n] = trees_;
    std::vector<LinkId> links;
    for (Rank n : destinations) {
      const auto begun = static_cast<std::ptrdiff_t>(links.size());
      while (on_tree_[n] != trees_) {
        const LinkId l = way_back(distance, n);
        on_tree_[n] = trees_;
        links.push_back(l);
        load_.add(l);
        n = topology_.links[l].src;
      }
      std::reverse(links.begin() + begun, links.end());
    }
    return links;
  }

  // Of the links that come a hop nearer: from a rank that gets the chunk anyway, then where least goes.
  LinkId way_back(const std::vector<int>& distance, Rank n) const {
    LinkId best = -1;
    std::pair<bool, double> least;
    for (LinkId l : into_[n]) {
      const Rank from = topology_.links[l].src;
      if (distance[from] != distance[n] - 1) continue;
      const std::pair<bool, double> cost = {on_tree_[from] != trees_, load_.price(l)};
      if (best < 0 || cost < least) {
        best = l;
        least = cost;
      }
    }
    return best;
  }

  const Topology& topology_;
  const Effort& effort_;
  Load load_;
  std::vector<std::vector<LinkId>> into_;
  std::vector<int> on_tree_;  // by rank: the last tree that it is on
  int trees_ = 0;
};

class Spreading {
 public:
  Spreading(const Topology& topology, const Collective& copies, const Routes& routes)
      : topology_(topology),
        copies_(copies),
        routes_(routes),
        below_(copies.chunks.size() * topology.ranks, -1),
        load_(topology) {
    for (Chunk c = 0; c < static_cast<int>(copies.chunks.size()); ++c) {
      measure(c);
      std::ranges::sort(routes_[c], {}, [&](LinkId l) { return std::pair(topology_.links[l].src, l); });
    }
  }

  // Nothing when stopped, or, unless it is made `anyhow`, when the effort is used up.
  std::optional<Schedule> run(int width, Effort& effort, bool anyhow = false) {
    looked_at_ = 0;
    queues_.assign(topology_.links.size(), {});
    open_.clear();
    for (Chunk c = 0; c < static_cast<int>(routes_.size()); ++c)
      for (Rank n : copies_.chunks[c].pre) offer(c, n);
    Schedule schedule;
    while (!open_.empty()) {
      if (effort.stopped() || !(anyhow || effort.affords(looked_at_))) {
        effort.spend(looked_at_);
        return std::nullopt;
      }
      schedule.steps.push_back(fill(width));
    }
    effort.spend(looked_at_);
    return schedule;
  }

 private:
  struct Wish {
    std::uint64_t key = 0;  // the least comes first
    Chunk chunk = 0;
    LinkId link = 0;
    auto operator<=>(const Wish&) const = default;
  };
  using Queue = std::priority_queue<Wish, std::vector<Wish>, std::greater<>>;

  std::size_t at(Chunk c, Rank n) const { return static_cast<std::size_t>(c) * topology_.ranks + n; }

  // Links of the route below each rank that is on it. The link into a rank stands before those out of it, so
  // one pass from the end sees every rank after all below it. Ranks that begin with the chunk stay at -1.
  void measure(Chunk c) {
    for (LinkId l : routes_[c]) below_[at(c, topology_.links[l].dst)] = 0;
    for (auto link = routes_[c].rbegin(); link != routes_[c].rend(); ++link) {
      const LinkId l = *link;
      int& above = below_[at(c, topology_.links[l].src)];
      if (above >= 0) above = std::max(above, below_[at(c, topology_.links[l].dst)] + 1);
    }
  }

  // The order of the essay above as one number.
  Wish wish(Chunk c, LinkId l) const {
    const Link& link = topology_.links[l];
    const int away = (link.dst - link.src + topology_.ranks) % topology_.ranks;
    const std::uint64_t height = static_cast<std::uint64_t>(below_[at(c, link.dst)]);
    return {.key = (~height << 32) | static_cast<std::uint64_t>(away), .chunk = c, .link = l};
  }

  // What rank n now has of the chunk's route to send.
  void offer(Chunk c, Rank n) {
    const auto source = [&](LinkId l) { return topology_.links[l].src; };
    const std::vector<LinkId>& links = routes_[c];
    for (auto l = std::ranges::lower_bound(links, n, {}, source); l != links.end() && source(*l) == n; ++l) {
      ++looked_at_;
      if (queues_[*l].empty()) open_.insert(*l);
      queues_[*l].push(wish(c, *l));
    }
  }

  // The first wish of every link competes; the winner's link sends its next. What arrives is offered on only
  // after the step, so that nothing moves twice in one.
  Step fill(int width) {
    Queue first;
    for (LinkId l : open_) first.push(queues_[l].top());
    Step step;
    load_.clear();
    while (!first.empty()) {
      ++looked_at_;
      const auto [key, chunk, l] = first.top();
      first.pop();
      if (!load_.has_room(l, width)) continue;  // nor will there be in this step
      step.sends.push_back({.chunk = chunk, .link = l});
      load_.add(l);
      queues_[l].pop();
      if (queues_[l].empty())
        open_.erase(l);
      else
        first.push(queues_[l].top());
    }
    step.rounds = load_.rounds();
    for (const Send& send : step.sends) offer(send.chunk, topology_.links[send.link].dst);
    std::ranges::sort(step.sends);
    return step;
  }

  const Topology& topology_;
  const Collective& copies_;
  Routes routes_;           // by chunk, then by the rank that links leave
  std::vector<int> below_;  // by chunk and rank: links of the route below it; -1 where the route does not go
  Load load_;

  // Of a run.
  std::vector<Queue> queues_ = {};  // by link
  std::set<LinkId> open_ = {};      // links with a queue that is not empty
  long long looked_at_ = 0;         // sends
};

// Widths 1, 2, 4, ... up to the first that takes no more steps than need be; then the narrowest such. A step
// that is wider need not lead to fewer steps; where the bisection is misled by that, it misses a schedule and
// makes no wrong one.
void try_widths(Spreading& spreading, std::size_t fewest_steps, std::vector<Schedule>& best, Effort& effort) {
  struct Outcome {
    bool fewest = false;
    bool filled = false;  // some step to its width: a wider one may change something
  };
  const auto outcome_of = [&](int width) -> std::optional<Outcome> {
    if (!effort.affords(1)) return std::nullopt;
    std::optional<Schedule> schedule = spreading.run(width, effort);
    if (!schedule) return std::nullopt;
    const Outcome outcome = {
        .fewest = schedule->steps.size() <= fewest_steps,
        .filled = std::ranges::any_of(schedule->steps, [&](const Step& s) { return s.rounds >= width; })};
    keep_undominated(best, std::move(*schedule));
    return outcome;
  };
  int width = 1;
  for (;; width *= 2) {
    const std::optional<Outcome> outcome = outcome_of(width);
    if (!outcome) return;
    if (outcome->fewest) break;
    if (!outcome->filled || width > kAnyWidth / 4) return;
  }
  int too_narrow = width / 2;
  while (width - too_narrow > 1) {
    const int middle = too_narrow + (width - too_narrow) / 2;
    const std::optional<Outcome> outcome = outcome_of(middle);
    if (!outcome) return;
    (outcome->fewest ? width : too_narrow) = middle;
  }
}

}  // namespace

void keep_undominated(std::vector<Schedule>& best, Schedule schedule) {
  const auto as_good = [](const Schedule& a, const Schedule& b) {
    return a.steps.size() <= b.steps.size() && total_rounds(a) <= total_rounds(b);
  };
  if (std::ranges::any_of(best, [&](const Schedule& other) { return as_good(other, schedule); })) return;
  std::erase_if(best, [&](const Schedule& other) { return as_good(schedule, other); });
  const auto place = std::ranges::upper_bound(best, schedule.steps.size(), {},
                                              [](const Schedule& s) { return s.steps.size(); });
  best.insert(place, std::move(schedule));
}

std::vector<Schedule> spread(const Topology& topology, const Collective& copies, Effort& effort) {
  const std::optional<Routes> shortest = Router(topology, effort).shortest(copies);
  if (!shortest) return {};
  Spreading spreading(topology, copies, *shortest);
  // Whatever the effort, there is one schedule, and it has the fewest steps: nothing waits.
  std::optional<Schedule> first = spreading.run(kAnyWidth, effort, true);
  if (!first) return {};
  const std::size_t fewest_steps = first->steps.size();
  std::vector<Schedule> best;
  keep_undominated(best, std::move(*first));
  if (fewest_steps > 0) try_widths(spreading, fewest_steps, best, effort);
  return best;
}

}  // namespace chorale
