// Sums are replaced by copies before anything is priced: those with one destination by the dual, others by
// what one end of them needs. Cheap bounds come first, and an expensive one is tried only where the cheap
// ones leave a gap; what was found for any number of steps is kept, and holds for few.
//
// Why parts of a sum bound the whole: in any schedule of an AllReduce, what one rank contributes gets to all
// destinations over sends that happened, and what all contribute gets to one destination. Each is a copy (the
// second reversed) that the schedule contains, so prices charge it as they would charge a Broadcast.
// Partition bounds use that each destination needs all contributions at once.
//
// Where links are chosen paths, bounds are of the machine below. A schedule on it, over any paths, is one of
// the machine whose switches are ranks without pre- or postcondition, so prices of that hold; partitions have
// finders of their own (fabric_partition, partitions.h).
//
// Invariant: what leaves has been accepted by check.cpp for the collective and the machine that were asked,
// not for their duals; a bound that is refused is a bug and stops.
#include "bounds/lower_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bounds/check.h"
#include "bounds/cut_climb.h"
#include "bounds/cut_packing.h"
#include "bounds/demand.h"
#include "bounds/growth.h"
#include "bounds/late_arrivals.h"
#include "bounds/partitions.h"
#include "bounds/price_search.h"
#include "graph/paths.h"
#include "ir/error.h"

namespace chorale {

// The value that has to travel farthest.
struct Farthest {
  int steps = 0;
  Chunk chunk = 0;
  Rank rank = 0;  // as in a Distance certificate: the destination; of a sum, the contributor
};

namespace {

// Bounds from hops: a value moves over one link a step.
//
// One breadth-first search for each set of sources, which chunks of a block share.
//
// A value is at rank n after t steps only if it started at most t hops away, and of the machine nothing else
// matters: bandwidth, limits and rounds could be any. So this is also exact for copies, since with enough
// rounds every chunk takes its shortest path. Cost: the links, for each set of sources; for a sum, each
// contributor is a set of its own. Through switches below chosen paths an entire path is one hop, chosen or
// not.

// Hops from sets of ranks. Equal sets are asked for one after the other, or again and again.
class HopTable {
 public:
  explicit HopTable(const Topology& topology)
      : topology_(topology), next_(topology.ranks + (topology.underlay ? topology.underlay->switches : 0)) {
    for (const Link& link : topology.underlay ? topology.underlay->links : topology.links)
      next_[link.src].push_back(link.dst);
  }

  // [rank] -> hops, -1 if there is no path.
  const std::vector<int>& from(const RankSet& sources) {
    const auto [at, fresh] = known_.try_emplace(sources);
    if (fresh) at->second = search(sources);
    return at->second;
  }

  void require_path(const RankSet& from, Rank to, int hops) const {
    if (hops < 0 && !from.empty())
      throw InputError("topology " + topology_.name,
                       fmt::format("no path from rank {} to rank {}", from.front(), to),
                       "add links, or a collective without this transfer");
  }

 private:
  // What switches lead to is a hop away from the first rank that reaches them.
  std::vector<int> search(const RankSet& sources) const {
    std::vector<bool> passed(next_.size(), false);
    return fewest_hops(topology_.ranks, sources, [&](Rank n, const auto& reach) {
      std::vector<Node> through = {n};
      for (std::size_t i = 0; i < through.size(); ++i)
        for (const Node to : next_[through[i]]) {
          if (to < topology_.ranks) {
            reach(to);
          } else if (!passed[to]) {
            passed[to] = true;
            through.push_back(to);
          }
        }
    });
  }

  const Topology& topology_;
  std::vector<std::vector<Node>> next_;  // by node
  std::map<RankSet, std::vector<int>> known_ = {};
};

// Throws InputError if there is no path.
Farthest farthest(const Topology& topology, const Collective& collective) {
  HopTable table(topology);
  Farthest most;
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c) {
    const ChunkSpec& spec = collective.chunks[c];
    if (c > 0 && spec.pre == collective.chunks[c - 1].pre && spec.post == collective.chunks[c - 1].post)
      continue;
    // The destination is named, or of a sum the contributor.
    const auto consider = [&](const RankSet& from, bool name_source) {
      const std::vector<int>& hops = table.from(from);
      for (Rank d : spec.post) {
        table.require_path(from, d, hops[d]);
        if (hops[d] > most.steps)
          most = {.steps = hops[d], .chunk = c, .rank = name_source ? from.front() : d};
      }
    };
    if (!collective.combining) consider(spec.pre, false);
    if (collective.combining)
      for (Rank p : spec.pre) consider({p}, true);
  }
  return most;
}

}  // namespace

// Chunks to be copied on a topology, whose price bounds hold for the collective too. Of a sum that has one
// destination: its dual. Otherwise one contribution must reach all destinations, or all contributions one
// destination.
struct Copying {
  Topology topology = {};
  std::vector<ChunkClass> classes = {};
  bool backwards = false;  // links and steps are reversed
};

namespace {

__extension__ typedef __int128 Wide;

// Each chunk only from that rank of its `pre` that is farthest from a rank of its `post`.
Collective from_one_end(const Topology& topology, Collective collective) {
  const std::vector<ChunkSpec> chunks = collective.chunks;
  const HopCounts hops(topology);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (c > 0 && chunks[c].pre == chunks[c - 1].pre && chunks[c].post == chunks[c - 1].post) {
      collective.chunks[c].pre = collective.chunks[c - 1].pre;
      continue;
    }
    // Any rank would do, and a farther one should pay more. Hops stand for prices, which are not known yet.
    std::pair<int, Rank> most = {-1, 0};
    for (Rank n : chunks[c].pre) {
      const std::vector<int> distance = hops.from({n});
      for (Rank m : chunks[c].post)
        if (distance[m] > most.first) most = {distance[m], n};
    }
    if (most.first >= 0) collective.chunks[c].pre = {most.second};
  }
  return collective;
}

std::vector<Copying> as_copying(const Topology& topology, const Collective& collective) {
  if (!collective.combining) return {{.topology = topology, .classes = wanted_classes(collective)}};
  const Topology turned = reversed(topology);
  const bool one_destination = std::all_of(collective.chunks.begin(), collective.chunks.end(),
                                           [](const ChunkSpec& spec) { return spec.post.size() == 1; });
  if (one_destination)
    return {{.topology = turned, .classes = wanted_classes(dual(collective)), .backwards = true}};
  // Both ends: one contribution to all destinations, and all contributions to one destination, reversed. On a
  // machine with unidirectional links the two differ.
  Collective broadcasts = from_one_end(topology, collective);
  broadcasts.combining = false;
  const Collective reductions = from_one_end(turned, dual(collective));
  return {{.topology = topology, .classes = wanted_classes(broadcasts)},
          {.topology = turned, .classes = wanted_classes(reductions), .backwards = true}};
}

// Are there chunks for several ranks, and not for all that have them not?
bool for_some(const Copying& copying) {
  return std::ranges::any_of(copying.classes, [&](const ChunkClass& each) {
    return each.post.size() > 1 &&
           static_cast<int>(each.pre.size() + each.post.size()) < copying.topology.ranks;
  });
}

// Of the machine below, with switches as ranks that pass on; as it is where there is none below.
Topology opened(const Topology& topology) {
  Topology machine = with_switches(topology);
  machine.ranks += machine.switches;
  machine.switches = 0;
  return machine;
}

double seconds_since(std::chrono::steady_clock::time_point started) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

}  // namespace

constexpr int kMostRanksOfSetSearch = 1024;
constexpr double kNearFound = 0.98;
constexpr double kAllPrices =
    5e9;  // of work: prices take as much of all that they may, and then as long as cuts

class LowerBounds::Search {
 public:
  Search(const Topology& topology, const Collective& collective, const std::atomic<bool>* stop)
      : topology_(topology), collective_(collective), stop_(stop) {
    assert(topology.switches == 0);
  }

  const StepBound& steps() {
    if (steps_) return *steps_;
    const auto started = std::chrono::steady_clock::now();
    far_ = farthest(topology_, collective_);
    steps_ = {.steps = far_.steps, .claim = nothing()};
    if (far_.steps == 0) return *steps_;  // nothing has to move, and nothing is claimed
    steps_->claim = checked(too_far(far_.steps - 1));
    steps_->claim.seconds = seconds_since(started);
    return *steps_;
  }

  const Claim& rounds() {
    if (any_) return *any_;
    steps();  // throws if there is no path
    const auto started = std::chrono::steady_clock::now();
    if (stopped()) return *(any_ = nothing());
    const bool ways = topology_.underlay.has_value();
    copyings_ = ways ? as_copying(opened(topology_), collective_) : as_copying(topology_, collective_);
    Best best{.claim = nothing()};
    for (const Copying& copying : copyings_)
      if (const std::optional<PriceBound> bound =
              price_bound(copying.topology, copying.classes, topology_.ranks, stop_))
        best.consider(kAnySteps, *bound, {.kind = Certificate::Kind::Weights, .prices = bound->prices});
    if (const std::optional<PriceBound> cut = summed_cut(); cut && cut->per_round > 0)
      best.consider(kAnySteps, *cut, {.kind = Certificate::Kind::Weights, .prices = cut->prices});
    // Where every chunk has one destination the flow program is the strongest; without shared limits and
    // switches cuts suffice for copies to all ranks, and partitions for copies to some, which the others may
    // relay.
    const bool sums = collective_.combining && copyings_.size() > 1;
    if (!stopped() && (sums || ways || !topology_.limits.empty() || for_some(copyings_.front())))
      if (const std::optional<PartitionBound> found = ways ? fabric_partition(topology_, collective_, stop_)
                                                           : best_partition(topology_, collective_, stop_))
        best.consider(
            kAnySteps, found->bound,
            {.kind = Certificate::Kind::Partition, .prices = found->bound.prices, .group = found->group});
    if (!stopped()) entering(best);
    any_ = best.bound ? checked(std::move(best.claim)) : nothing();
    any_->seconds = seconds_since(started);
    return *any_;
  }

  Claim rate_in(int steps, const Rate& found, long long work) {
    const auto started = std::chrono::steady_clock::now();
    const auto of_any = [&](const Claim& claim) { return of_any_chunks(topology_, collective_, claim); };
    if (steps < this->steps().steps) return of_any(checked(too_far(steps)));
    Claim best = of_any(rounds());
    const auto consider = [&](int rounds, Certificate certificate) {
      Claim claim = nothing();
      claim.steps = steps;
      claim.rounds = rounds;
      claim.certificate = std::move(certificate);
      claim = of_any(checked(std::move(claim)));
      if (Wide{claim.rounds} * best.chunks > Wide{best.rounds} * claim.chunks) best = std::move(claim);
    };
    if (topology_.underlay || stopped()) return best;
    const std::vector<ChunkClass> classes =
        collective_.combining ? chunk_classes(collective_) : wanted_classes(collective_);
    const bool packs = work > 0 && classes.size() == 1 && !abilities_of(topology_).any();
    // Without shared limits the program of cuts has a column per step, and is as strong as flows.
    if (!packs || !topology_.limits.empty())
      for_copies(
          steps, 0,
          [&](const PriceBound& bound) {
            consider(rounds_shown(bound), {.kind = Certificate::Kind::Weights, .prices = bound.prices});
          },
          std::min(1.0, static_cast<double>(work) / kAllPrices));
    const bool near = best.rounds * found.chunks >= kNearFound * best.chunks * found.rounds;
    if (packs && !near && !stopped()) {
      const bool parted = any_->certificate.kind == Certificate::Kind::Partition;
      const std::vector<int> group = parted ? any_->certificate.group : std::vector<int>{};
      if (std::optional<Certificate> packed =
              pack_cuts(topology_, classes.front(), collective_.combining, group, steps, work, stop_))
        consider(1, std::move(*packed));
    }
    best.seconds = seconds_since(started);
    return best;
  }

  Claim rounds_in(int steps, int enough) {
    const auto started = std::chrono::steady_clock::now();
    // Fewer than the distance: no schedule at all, however many rounds.
    if (steps < this->steps().steps) return checked(too_far(steps));
    // What is found for few steps is of the links.
    if (topology_.underlay) return rounds();
    Best best{.claim = rounds()};
    // The flow programs last: they cost more, and are useful only if they show more.
    if (best.claim.rounds < enough && !stopped()) growing(steps, best);
    if (best.claim.rounds < enough && !stopped()) within(steps, best);
    if (best.claim == *any_) return best.claim;
    Claim claim = checked(std::move(best.claim));
    claim.seconds = seconds_since(started);
    return claim;
  }

 private:
  struct Best {
    Claim claim = {};
    std::optional<PriceBound> bound = {};

    void consider(int steps, const PriceBound& found, Certificate certificate) {
      const int rounds = rounds_shown(found);
      // Of equal rounds, the higher rate: it is shown to people.
      const bool better = rounds > claim.rounds ||
                          (rounds == claim.rounds && steps == kAnySteps && bound && stronger(found, *bound));
      if (!better) return;
      claim.steps = steps;
      claim.rounds = rounds;
      claim.certificate = std::move(certificate);
      bound = found;
    }
  };

  bool stopped() const { return stop_ != nullptr && *stop_; }

  Claim nothing() const { return {.collective = collective_.kind, .chunks = collective_.chunks_per_block}; }

  Claim too_far(int steps) const {
    Claim claim = nothing();
    claim.steps = steps;
    claim.rounds = kNoSchedule;
    claim.certificate = {.kind = Certificate::Kind::Distance, .chunk = far_.chunk, .rank = far_.rank};
    return claim;
  }

  // Of sums with several destinations, for some ranks: copies from one end are of one contribution each.
  std::optional<PriceBound> summed_cut() const {
    if (stopped() || topology_.underlay || topology_.ranks > kMostRanksOfSetSearch || copyings_.size() < 2 ||
        !for_some(copyings_.front()))
      return std::nullopt;
    return widest_summed_cut(topology_, chunk_classes(collective_), stop_);
  }

  // Behind the cut that was found late arrivals must still be spread.
  void entering(Best& best) const {
    const Copying& copying = copyings_.front();
    if (topology_.underlay || (collective_.combining && !copying.backwards) || copyings_.size() > 1 ||
        abilities_of(topology_).any() || best.claim.certificate.kind != Certificate::Kind::Weights)
      return;
    std::optional<LateArrivalBound> found =
        late_arrival_bound(copying.topology, copying.classes, best.claim.certificate.prices.front());
    if (!found || found->rounds <= best.claim.rounds) return;
    best.claim.rounds = found->rounds;
    best.claim.certificate = {.kind = Certificate::Kind::Entries,
                              .prices = {std::move(found->prices)},
                              .group = std::move(found->group)};
  }

  // Where few chunks leave a rank in a round, spreading takes longer than any cut shows.
  void growing(int steps, Best& best) const {
    const bool turn = copyings_.front().backwards;
    if (collective_.combining && !turn) return;
    const GrowthBound bound =
        growth_bound(copyings_.front().topology, turn ? dual(collective_) : collective_, steps);
    if (bound.rounds <= best.claim.rounds) return;
    best.claim.steps = steps;
    best.claim.rounds = bound.rounds;
    best.claim.certificate = {.kind = Certificate::Kind::Growth, .chunk = bound.chunk};
  }

  // A schedule has a round a step: what shows less than the fewest steps is of no use.
  void within(int steps, Best& best) const {
    for_copies(steps, std::max(best.claim.rounds, steps_->steps), [&](const PriceBound& bound) {
      best.consider(steps, bound, {.kind = Certificate::Kind::Weights, .prices = bound.prices});
    });
  }

  // Prices of steps, for each kind of copies that the collective contains.
  void for_copies(int steps, int known, const std::function<void(const PriceBound&)>& found,
                  double part = 1) const {
    for (const Copying& copying : copyings_) {
      std::optional<PriceBound> bound =
          timed_price_bound(copying.topology, copying.classes, steps, known, stop_, part);
      if (!bound) continue;
      // Links keep their numbers when they are reversed, steps do not: the first of the dual is the last of
      // the sum.
      if (copying.backwards) std::reverse(bound->prices.begin(), bound->prices.end());
      found(*bound);
    }
  }

  // Every claim that leaves has been checked by code that is independent of its finder.
  Claim checked(Claim claim) const {
    if (const auto wrong = fault(topology_, collective_, claim))
      throw std::logic_error("a bound's certificate is refused: " + wrong->words);
    return claim;
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::atomic<bool>* const stop_;
  Farthest far_ = {};
  std::vector<Copying> copyings_ = {};  // once `any_` is known
  std::optional<StepBound> steps_ = {};
  std::optional<Claim> any_ = {};
};

LowerBounds::LowerBounds(const Topology& topology, const Collective& collective,
                         const std::atomic<bool>* stop)
    : search_(std::make_unique<Search>(topology, collective, stop)) {}
LowerBounds::~LowerBounds() = default;

const StepBound& LowerBounds::fewest_steps() {
  return search_->steps();
}

const Claim& LowerBounds::fewest_rounds() {
  return search_->rounds();
}

Claim LowerBounds::highest_rate_in(int steps, const Rate& found, long long work) {
  return search_->rate_in(steps, found, work);
}

Claim LowerBounds::fewest_rounds_in(int steps, int enough) {
  return search_->rounds_in(steps, enough);
}

StepBound fewest_steps(const Topology& topology, const Collective& collective) {
  return LowerBounds(topology, collective).fewest_steps();
}

Claim fewest_rounds(const Topology& topology, const Collective& collective) {
  return LowerBounds(topology, collective).fewest_rounds();
}

Claim fewest_rounds_in(const Topology& topology, const Collective& collective, int steps, int enough) {
  return LowerBounds(topology, collective).fewest_rounds_in(steps, enough);
}

}  // namespace chorale
