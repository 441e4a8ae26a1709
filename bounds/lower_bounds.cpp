#include "bounds/lower_bounds.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bounds/check.h"
#include "bounds/demand.h"
#include "bounds/distance.h"
#include "bounds/growth.h"
#include "bounds/partitions.h"
#include "bounds/price_search.h"

namespace chorale {
namespace {

// Chunks to be copied on a topology, whose price bounds hold for the collective too. Of a sum that has one
// destination: its dual. Otherwise one contribution must reach all destinations, or all contributions one
// destination.
struct Copying {
  Topology topology = {};
  std::vector<ChunkClass> classes = {};
  bool backwards = false;  // links and steps are turned round
};

// Each chunk only from that rank of its `pre` that is farthest from a rank of its `post`.
Collective from_one_end(const Topology& topology, Collective collective) {
  const std::vector<ChunkSpec> chunks = collective.chunks;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (c > 0 && chunks[c].pre == chunks[c - 1].pre && chunks[c].post == chunks[c - 1].post) {
      collective.chunks[c].pre = collective.chunks[c - 1].pre;
      continue;
    }
    std::pair<int, Rank> most = {-1, 0};
    for (Rank n : chunks[c].pre) {
      const std::vector<int> distance = hops(topology, {n});
      for (Rank m : chunks[c].post)
        if (distance[m] > most.first) most = {distance[m], n};
    }
    if (most.first >= 0) collective.chunks[c].pre = {most.second};
  }
  return collective;
}

std::vector<Copying> as_copying(const Topology& topology, const Collective& collective) {
  if (!collective.combining) return {{.topology = topology, .classes = chunk_classes(collective)}};
  const Topology turned = reversed(topology);
  const bool one_destination = std::all_of(collective.chunks.begin(), collective.chunks.end(),
                                           [](const ChunkSpec& spec) { return spec.post.size() == 1; });
  if (one_destination)
    return {{.topology = turned, .classes = chunk_classes(dual(collective)), .backwards = true}};
  Collective broadcasts = from_one_end(topology, collective);
  broadcasts.combining = false;
  const Collective reductions = from_one_end(turned, dual(collective));
  return {{.topology = topology, .classes = chunk_classes(broadcasts)},
          {.topology = turned, .classes = chunk_classes(reductions), .backwards = true}};
}

class Search {
 public:
  Search(const Topology& topology, const Collective& collective)
      : topology_(topology), collective_(collective), copyings_(as_copying(topology, collective)) {
    best_ = {.collective = collective.kind, .chunks = collective.chunks_per_block};
  }

  void any_steps() {
    for (const Copying& copying : copyings_)
      if (const std::optional<PriceBound> bound = price_bound(copying.topology, copying.classes))
        consider(kAnySteps, *bound, {.kind = Certificate::Kind::Weights, .prices = bound->prices});
    // Where every chunk has one destination the flow program has said all; without shared limits cuts say
    // what copies need.
    const bool sums = collective_.combining && copyings_.size() > 1;
    if (!sums && topology_.limits.empty()) return;
    if (const std::optional<PartitionBound> found = best_partition(topology_, collective_))
      consider(kAnySteps, found->bound,
               {.kind = Certificate::Kind::Partition, .prices = found->bound.prices, .group = found->group});
  }

  void within(int steps) {
    for (const Copying& copying : copyings_) {
      std::optional<PriceBound> bound = timed_price_bound(copying.topology, copying.classes, steps);
      if (!bound) continue;
      if (copying.backwards) std::reverse(bound->prices.begin(), bound->prices.end());
      consider(steps, *bound, {.kind = Certificate::Kind::Weights, .prices = bound->prices});
    }
  }

  // Where few chunks leave a rank in a round, spreading takes longer than any cut says.
  void growing(int steps) {
    const bool turn = copyings_.front().backwards;
    if (collective_.combining && !turn) return;
    const GrowthBound bound =
        growth_bound(copyings_.front().topology, turn ? dual(collective_) : collective_, steps);
    if (bound.rounds <= best_.rounds) return;
    best_.steps = steps;
    best_.rounds = bound.rounds;
    best_.certificate = {.kind = Certificate::Kind::Growth, .chunk = bound.chunk};
  }

  // Whatever leaves here has been checked by someone who does not know how it was found.
  Claim checked() {
    if (const std::string wrong = fault(topology_, collective_, best_); !wrong.empty())
      throw std::logic_error("a bound's certificate is refused: " + wrong);
    best_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    return best_;
  }

  int rounds() const { return best_.rounds; }

  void start_with(const Claim& claim) { best_ = claim; }

 private:
  void consider(int steps, const PriceBound& bound, Certificate certificate) {
    const int rounds = rounds_shown(bound);
    // Of equal rounds, the higher rate: it is shown to people.
    const bool better = rounds > best_.rounds || (rounds == best_.rounds && steps == kAnySteps &&
                                                  best_bound_ && stronger(bound, *best_bound_));
    if (!better) return;
    best_.steps = steps;
    best_.rounds = rounds;
    best_.certificate = std::move(certificate);
    best_bound_ = bound;
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::vector<Copying> copyings_ = {};
  Claim best_ = {};
  std::optional<PriceBound> best_bound_ = {};
};

Claim too_far(const Collective& collective, const Farthest& far, int steps) {
  return {.collective = collective.kind,
          .chunks = collective.chunks_per_block,
          .steps = steps,
          .rounds = kNoSchedule,
          .certificate = {.kind = Certificate::Kind::Distance, .chunk = far.chunk, .rank = far.rank}};
}

}  // namespace

StepBound fewest_steps(const Topology& topology, const Collective& collective) {
  assert(topology.switches == 0);
  const auto started = std::chrono::steady_clock::now();
  const Farthest far = farthest(topology, collective);
  StepBound bound{.steps = far.steps,
                  .claim = {.collective = collective.kind, .chunks = collective.chunks_per_block}};
  if (far.steps == 0) return bound;  // nothing has to move, and nothing is claimed
  bound.claim = too_far(collective, far, far.steps - 1);
  if (const std::string wrong = fault(topology, collective, bound.claim); !wrong.empty())
    throw std::logic_error("a bound's certificate is refused: " + wrong);
  bound.claim.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return bound;
}

Claim fewest_rounds(const Topology& topology, const Collective& collective) {
  farthest(topology, collective);  // throws where there is no path
  Search search(topology, collective);
  search.any_steps();
  return search.checked();
}

Claim fewest_rounds_in(const Topology& topology, const Collective& collective, int steps, int enough) {
  const Farthest far = farthest(topology, collective);
  Search search(topology, collective);
  if (steps < far.steps) {
    search.start_with(too_far(collective, far, steps));
  } else {
    search.any_steps();
    // The flow programs last: they cost more, and then must say more.
    if (search.rounds() < enough) search.growing(steps);
    if (search.rounds() < enough) search.within(steps);
  }
  return search.checked();
}

}  // namespace chorale
