// List scheduling. A step is filled send by send while there is room for it in a given number of rounds (its
// width); its rounds are then what its fullest link or limit needs. Narrow steps pack well and are many; with
// steps as wide as need be, a chunk moves in every step, and there are as few as the longest route has links.
// So the widths 1, 2, 4, ... give the trade between steps and rounds, and bisection the narrowest width for
// the fewest steps.
//
// A chunk goes only to ranks on its routes (routes): either by the route's own links, or, where
// Holders::Any, over any link from any rank that has it by then, which is how one that many ranks need grows
// as fast as links allow (compare TACOS, Won et al.). Which send comes first: the one with the longest path
// still ahead; then the chunk that fewer ranks have; then the nearest rank by number, which on machines where
// all is linked with all makes the sends of a step a shift, hence all ports equally full.
//
// Invariants: a sender has held the chunk since an earlier step; a rank is sent a chunk once. A step has a
// send as long as one is wanted, since the route to the wanting rank begins at one that has it.
//
// What lost: a width for each step (geometric growth) needs the number of steps beforehand; and scanning all
// chunks of all links in every step costs far more than the queues here, of which a step examines the first
// of each link.
#include "construct/engine/spreading.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "construct/engine/load.h"
#include "graph/paths.h"
#include "ir/undominated.h"

namespace chorale {
namespace {

// Over which links the chunks of a collective that copies are to spread: for each chunk an out-tree (a
// forest, where several ranks have it at the start) to all its destinations.
//
// Chunks are routed one after the other, and each uses what those before it have left: the price of a link is
// the rounds that it and the limits over it would need with this chunk as well, so the sum of squares of the
// loads is what is kept small. Balanced routes are found twice, the second time with all others known.
//
// Invariant: a walk back from a destination stops at the first rank that has the chunk or is on its tree, and
// every step of it comes nearer to a rank that has it; so the links are a forest.
//
// Not done: an exact concurrent flow (bounds/flow_lp.h has one) is fractional, must be rounded, and is a
// linear program where this is a walk; Steiner trees cost a search for each destination, and where a chunk
// has many, construct/engine/spreading.cpp lets it come from any rank that has it, whatever its tree is.

// By chunk. A rank is entered at most once, leaves are destinations, and the link into a rank comes before
// those out of it.
using Routes = std::vector<std::vector<LinkId>>;

class Router {
 public:
  Router(const Topology& topology, const WorkBudget& effort)
      : topology_(topology),
        effort_(effort),
        load_(topology),
        into_(topology.ranks),
        out_of_(topology.ranks),
        on_tree_(topology.ranks, -1) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
      into_[topology.links[l].dst].push_back(l);
      out_of_[topology.links[l].src].push_back(l);
    }
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
      routes.push_back(tree(spec.pre, nearest_first, [&](Rank n) { return way_back(distance, n); }));
    }
    return routes;
  }

  std::optional<Routes> balanced(const Collective& copies) {
    constexpr int kPasses = 2;
    Routes routes(copies.chunks.size());
    for (int pass = 0; pass < kPasses; ++pass)
      for (std::size_t c = 0; c < copies.chunks.size(); ++c) {
        if (effort_.stopped()) return std::nullopt;
        const ChunkSpec& spec = copies.chunks[c];
        // In the second pass it makes room for itself: the loads are those of all others.
        for (LinkId l : routes[c]) load_.add(l, -1);
        const std::vector<LinkId> back = cheapest_ways(spec);
        for (Rank n : spec.post)
          if (back[n] < 0 && !std::ranges::binary_search(spec.pre, n)) return std::nullopt;
        routes[c] = tree(spec.pre, spec.post, [&](Rank n) { return back[n]; });
      }
    return routes;
  }

 private:
  // Walks back from each destination by the link that `back` names, until it is on the tree. A branch is
  // found leaf first and reversed, so that the link into a rank stands before those out of it.
  std::vector<LinkId> tree(const RankSet& sources, std::span<const Rank> destinations,
                           const std::function<LinkId(Rank)>& back) {
    ++trees_;
    for (Rank n : sources) on_tree_[n] = trees_;
    std::vector<LinkId> links;
    for (Rank n : destinations) {
      const auto begun = static_cast<std::ptrdiff_t>(links.size());
      while (on_tree_[n] != trees_) {
        const LinkId l = back(n);
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

  // The last link of the cheapest path to each rank, -1 where there is none. Every price is above 0, so the
  // paths have no cycles.
  std::vector<LinkId> cheapest_ways(const ChunkSpec& spec) const {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return cheapest_paths(topology_.ranks, spec.pre, 0.0, kNever,
                          [&](Rank n, double so_far, const auto& reach) {
                            for (LinkId l : out_of_[n])
                              reach(topology_.links[l].dst, l, so_far + load_.price(l));
                          })
        .by;
  }

  const Topology& topology_;
  const WorkBudget& effort_;
  Load load_;
  std::vector<std::vector<LinkId>> into_, out_of_;
  std::vector<int> on_tree_;  // by rank: the last tree that it is on
  int trees_ = 0;
};

// Every destination at its distance, in hops, from the nearest rank that has the chunk. Of equally short
// paths, the one that carries least so far, over ranks that get the chunk anyway. Nothing where a destination
// cannot be reached, or when stopped.
std::optional<Routes> shortest_routes(const Topology& topology, const Collective& copies,
                                      const WorkBudget& effort) {
  return Router(topology, effort).shortest(copies);
}

// Paths may be longer where the short ones are full. Nothing as above.
std::optional<Routes> balanced_routes(const Topology& topology, const Collective& copies,
                                      const WorkBudget& effort) {
  return Router(topology, effort).balanced(copies);
}

enum class Holders { OfRoute, Any };
constexpr int kAnyWidth = std::numeric_limits<int>::max();

class Spreading {
 public:
  Spreading(const Topology& topology, const Collective& copies, const Routes& routes, Holders holders)
      : topology_(topology),
        copies_(copies),
        routes_(routes),
        holders_(holders),
        out_of_(topology.ranks),
        below_(copies.chunks.size() * topology.ranks, -1),
        load_(topology) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      out_of_[topology.links[l].src].push_back(l);
    for (Chunk c = 0; c < static_cast<int>(copies.chunks.size()); ++c) measure(c);
  }

  // Nothing when stopped, or, unless it is made `anyhow`, when the effort is used up.
  std::optional<Schedule> run(int width, WorkBudget& effort, bool anyhow = false) {
    looked_at_ = 0;
    start();
    Schedule schedule;
    while (wanted_ > 0) {
      if (effort.stopped() || !(anyhow || effort.affords(looked_at_))) {
        effort.spend(looked_at_);
        return std::nullopt;
      }
      schedule.steps.push_back(fill(width, effort));
      assert(effort.stopped() || !schedule.steps.back().sends.empty());
    }
    effort.spend(looked_at_);
    // Rounds are counted only now: what was removed may have been what filled a link.
    if (holders_ == Holders::Any) remove_unused(schedule);
    for (Step& step : schedule.steps) {
      load_.clear();
      for (const Send& send : step.sends) load_.add(send.link);
      step.rounds = load_.rounds();
      std::ranges::sort(step.sends);
    }
    load_.clear();
    return schedule;
  }

 private:
  struct Wish {
    std::uint64_t key = 0;  // the least comes first
    Chunk chunk = 0;
    bool operator>(const Wish& other) const {
      return std::pair(key, chunk) > std::pair(other.key, other.chunk);
    }
  };
  using Queue = std::priority_queue<Wish, std::vector<Wish>, std::greater<>>;

  std::size_t at(Chunk c, Rank n) const { return static_cast<std::size_t>(c) * topology_.ranks + n; }

  // Links of the route below each rank that is on it. The link into a rank stands before those out of it, so
  // one pass from the end visits every rank after all below it. Ranks that begin with the chunk stay at -1.
  void measure(Chunk c) {
    for (LinkId l : routes_[c]) below_[at(c, topology_.links[l].dst)] = 0;
    for (auto link = routes_[c].rbegin(); link != routes_[c].rend(); ++link) {
      const LinkId l = *link;
      int& above = below_[at(c, topology_.links[l].src)];
      if (above >= 0) above = std::max(above, below_[at(c, topology_.links[l].dst)] + 1);
    }
  }

  void start() {
    const std::size_t chunks = copies_.chunks.size();
    has_.assign(chunks * topology_.ranks, 0);
    held_.assign(chunks, 0);
    queues_.assign(topology_.links.size(), {});
    open_.clear();
    wanted_ = 0;
    for (Chunk c = 0; c < static_cast<int>(chunks); ++c) {
      const ChunkSpec& spec = copies_.chunks[c];
      for (Rank n : spec.pre) has_[at(c, n)] = 1;
      for (Rank n : spec.post) wanted_ += !has_[at(c, n)];
      held_[c] = static_cast<int>(spec.pre.size());
    }
    for (Chunk c = 0; c < static_cast<int>(chunks); ++c) {
      if (holders_ == Holders::OfRoute) {
        for (LinkId l : routes_[c])
          if (std::ranges::binary_search(copies_.chunks[c].pre, topology_.links[l].src)) offer(c, l);
      } else if (!routes_[c].empty()) {
        for (Rank n : copies_.chunks[c].pre) offer_all(c, n);
      }
    }
    if (holders_ == Holders::OfRoute) sort_routes();
  }

  // By chunk: its links, by the rank that they leave.
  void sort_routes() {
    if (!by_source_.empty() || routes_.empty()) return;
    by_source_ = routes_;
    for (std::vector<LinkId>& links : by_source_)
      std::ranges::sort(links, {}, [&](LinkId l) { return std::pair(topology_.links[l].src, l); });
  }

  // The order of the essay above as one number: 20 bits of the path length still behind the receiver,
  // inverted so that the longest is least; 8 of rarity; 32 of the distance between the two ranks by number.
  // Rarity is in powers of two, so a key goes stale only when twice as many hold the chunk.
  Wish wish(Chunk c, LinkId l) const {
    const Link& link = topology_.links[l];
    const auto field = [](std::uint64_t value, int bits) {
      return std::min(value, (std::uint64_t{1} << bits) - 1);
    };
    const int away = (link.dst - link.src + topology_.ranks) % topology_.ranks;
    const std::uint64_t height = field(static_cast<std::uint64_t>(below_[at(c, link.dst)]), 20);
    const std::uint64_t rarity = std::bit_width(static_cast<unsigned>(held_[c]));
    return {.key = ((field(~0ULL, 20) - height) << 40) | (rarity << 32) |
                   field(static_cast<std::uint64_t>(away), 32),
            .chunk = c};
  }

  void offer(Chunk c, LinkId l) {
    const Rank to = topology_.links[l].dst;
    if (below_[at(c, to)] < 0 || has_[at(c, to)]) return;
    ++looked_at_;
    if (queues_[l].empty()) open_.insert(l);
    queues_[l].push(wish(c, l));
  }

  void offer_all(Chunk c, Rank n) {
    if (holders_ == Holders::Any) {
      for (LinkId l : out_of_[n]) offer(c, l);
      return;
    }
    const auto source = [&](LinkId l) { return topology_.links[l].src; };
    const std::vector<LinkId>& links = by_source_[c];
    for (auto l = std::ranges::lower_bound(links, n, {}, source); l != links.end() && source(*l) == n; ++l)
      offer(c, *l);
  }

  // The first wish of a link that still stands. Its chunk may be less rare by now, and then it goes back with
  // its new key. Keys only rise with time, so one on top that is still right is the least of all. Nothing if
  // there is none.
  std::optional<Wish> first(LinkId l) {
    Queue& queue = queues_[l];
    while (!queue.empty()) {
      const Wish top = queue.top();
      if (has_[at(top.chunk, topology_.links[l].dst)]) {
        queue.pop();
        continue;
      }
      const Wish now = wish(top.chunk, l);
      if (now.key == top.key) return top;
      queue.pop();
      queue.push(now);
    }
    open_.erase(l);
    return std::nullopt;
  }

  // The best wish of every link competes; the winner's link sends its next. A rank counts as having a chunk
  // at once, so that no other rank sends it, but offers it on only after the step, so that nothing moves
  // twice in one.
  Step fill(int width, const WorkBudget& effort) {
    using Candidate = std::pair<Wish, LinkId>;
    const auto later = [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.first.key, a.first.chunk, a.second) >
             std::tuple(b.first.key, b.first.chunk, b.second);
    };
    std::vector<Candidate> some;
    for (LinkId l : std::vector<LinkId>(open_.begin(), open_.end()))
      if (const std::optional<Wish> wish = first(l)) some.push_back({*wish, l});
    std::priority_queue<Candidate, std::vector<Candidate>, decltype(later)> candidates(later,
                                                                                       std::move(some));
    Step step;
    load_.clear();
    while (!candidates.empty() && !effort.stopped()) {
      ++looked_at_;
      const auto [wish, l] = candidates.top();
      candidates.pop();
      if (!load_.has_room(l, width)) continue;  // nor will there be in this step
      const std::optional<Wish> now = first(l);
      if (!now) continue;
      if (now->key == wish.key && now->chunk == wish.chunk) {
        step.sends.push_back({.chunk = wish.chunk, .link = l});
        load_.add(l);
        receive(wish.chunk, topology_.links[l].dst);
        queues_[l].pop();
      }
      if (const std::optional<Wish> next = first(l)) candidates.push({*next, l});
    }
    for (const Send& send : step.sends) offer_all(send.chunk, topology_.links[send.link].dst);
    return step;
  }

  void receive(Chunk c, Rank n) {
    has_[at(c, n)] = 1;
    ++held_[c];
    if (std::ranges::binary_search(copies_.chunks[c].post, n)) --wanted_;
  }

  // Where chunks may come from anyone, a rank on a route may have been passed by: last step first, what is
  // neither wanted nor sent on later is not sent. Routes alone have no such ranks, since their leaves are
  // destinations.
  void remove_unused(Schedule& schedule) const {
    std::vector<char> used(has_.size(), 0);
    for (Chunk c = 0; c < static_cast<int>(copies_.chunks.size()); ++c)
      for (Rank n : copies_.chunks[c].post) used[at(c, n)] = 1;
    for (auto last = schedule.steps.rbegin(); last != schedule.steps.rend(); ++last) {
      Step& step = *last;
      std::erase_if(step.sends,
                    [&](const Send& s) { return !used[at(s.chunk, topology_.links[s.link].dst)]; });
      for (const Send& s : step.sends) used[at(s.chunk, topology_.links[s.link].src)] = 1;
    }
    std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
  }

  const Topology& topology_;
  const Collective& copies_;
  const Routes& routes_;
  const Holders holders_;
  std::vector<std::vector<LinkId>> out_of_;
  std::vector<int> below_;  // by chunk and rank: links of the route below it; -1 where the route does not go
  std::vector<std::vector<LinkId>> by_source_ = {};  // by chunk: its route, by ranks that links leave
  Load load_;

  // Of a run.
  std::vector<char> has_ = {};      // by chunk and rank; what arrives in the step that is being filled counts
  std::vector<int> held_ = {};      // by chunk: ranks that have it
  std::vector<Queue> queues_ = {};  // by link; wishes that were granted elsewhere stay until they are first
  std::set<LinkId> open_ = {};      // links with a queue that is not empty
  long long looked_at_ = 0;         // sends
  long long wanted_ = 0;            // destinations that lack their chunk
};

// Widths 1, 2, 4, ... up to the first that takes no more steps than need be; then the narrowest such. A step
// that is wider need not lead to fewer steps; where the bisection is misled by that, it misses a schedule and
// makes no wrong one.
void try_widths(Spreading& spreading, std::size_t fewest_steps, std::vector<Schedule>& best,
                WorkBudget& effort) {
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
  if (keep_undominated(best, std::move(schedule), as_good))
    std::ranges::sort(best, {}, [](const Schedule& s) { return s.steps.size(); });
}

std::vector<Schedule> spread(const Topology& topology, const Collective& copies, WorkBudget& effort) {
  const std::optional<Routes> shortest = shortest_routes(topology, copies, effort);
  if (!shortest) return {};
  Spreading on_shortest(topology, copies, *shortest, Holders::OfRoute);
  // Whatever the effort, there is one schedule, and it has the fewest steps: nothing waits.
  std::optional<Schedule> first = on_shortest.run(kAnyWidth, effort, true);
  if (!first) return {};
  const std::size_t fewest_steps = first->steps.size();
  std::vector<Schedule> best;
  keep_undominated(best, std::move(*first));
  if (fewest_steps == 0) return best;

  Spreading from_any(topology, copies, *shortest, Holders::Any);
  try_widths(from_any, fewest_steps, best, effort);
  // Balanced routes are a search for every chunk, which examines every link: charged to the work budget
  // before it begins.
  const long long searches =
      static_cast<long long>(copies.chunks.size()) * static_cast<long long>(topology.links.size());
  if (!effort.affords(searches)) return best;
  effort.spend(searches);
  if (const std::optional<Routes> balanced = balanced_routes(topology, copies, effort)) {
    Spreading on_balanced(topology, copies, *balanced, Holders::OfRoute);
    try_widths(on_balanced, fewest_steps, best, effort);
    Spreading from_any_balanced(topology, copies, *balanced, Holders::Any);
    try_widths(from_any_balanced, fewest_steps, best, effort);
  }
  return best;
}

}  // namespace chorale
