// Breadth first over counts: a state is the number of holders of each chunk, largest first, and a layer has
// all states of a number of steps and rounds that no other state covers, since more copies never hurt. Moves
// that could be extended are left out for the same reason. Counting all chunks together came first and left
// room that no schedule has (dgx2 Broadcast, 3 chunks in 5 steps and 6 rounds), which took a solver minutes
// to refute. check.cpp searches the same counts depth first, by code of its own.
//
// Invariant: layer (s, r) has, up to the order of chunks, for every state that can be reached in exactly s
// steps of r rounds together one that has no fewer copies of any chunk. Chunks of a class are equal and ranks
// only numbers, so states are sorted; what a move did to which chunk is kept with the state, for plans.
//
// Example: the machine `hub` with bandwidth 1 at each rank, one chunk, 8 ranks, one round per step. Holders
// beyond the root go 0, 1, 3, 7: three steps of one round, and no schedule does it in fewer rounds than
// log2(8).
#include "bounds/growth.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace chorale {
namespace {

constexpr std::size_t kMostChunks = 6;        // of a class; of a larger class, this many are considered
constexpr std::size_t kMostStates = 4000;     // after one number of steps and rounds
constexpr long long kMostMoves = 10'000'000;  // parts of moves and comparisons
constexpr int kMostSteps = 16;

// What a rank can send and receive in a round, at most.
struct Rates {
  std::vector<long long> out = {};
  std::vector<long long> in = {};
};

// By rank, chunks per round over its links of that end: all, or what one limit leaves. Several limits at one
// rank are not combined, which leaves the rate too high and the bound weaker, never wrong.
std::vector<long long> rates_at(const Topology& topology, Node Link::*end) {
  std::vector<long long> all(topology.ranks, 0);
  for (const Link& link : topology.links) all[link.*end] += link.bandwidth;
  std::vector<long long> least = all;
  for (const SharedLimit& limit : topology.limits) {
    if (end == &Link::src && limit.abilities.multicast)
      continue;  // for however many ranks, a copy counts once
    std::map<Rank, long long> covered;
    for (LinkId l : limit.links) covered[topology.links[l].*end] += topology.links[l].bandwidth;
    for (const auto& [n, bandwidth] : covered)
      least[n] = std::min(least[n], all[n] - bandwidth + limit.bandwidth);
  }
  return least;
}

// A class of equal chunks, as numbers. Ranks are made equal by giving each the highest rate of any: more is
// possible then than on the machine, so what is impossible stays so.
struct Spread {
  std::size_t chunks = 0;
  long long others = 0;      // ranks that can come to hold a chunk
  long long goal = 0;        // of those, how many must
  long long from_start = 0;  // sent by the first holders together, a round
  long long per_rank = 0;    // sent by another rank
  long long received = 0;    // by one rank
  auto operator<=>(const Spread&) const = default;
};

using Counts = std::vector<long long>;  // by chunk, the largest first

// Calls `visit` with what can be added to `counts` in a step: the moves that cannot be extended. The moves
// examined are added to `work`; it ends early if that is too much.
class Moves {
 public:
  Moves(const Spread& spread, const Counts& counts, int rounds, std::function<void(const Counts&)> visit,
        long long& work)
      : spread_(spread),
        counts_(counts),
        rounds_(rounds),
        visit_(std::move(visit)),
        work_(work),
        move_(counts.size(), 0) {
    // A rank that holds several chunks is one sender, so there are no more senders than ranks.
    const long long holders = std::min(spread.others, std::accumulate(counts.begin(), counts.end(), 0LL));
    const long long sent = rounds * (spread.from_start + holders * spread.per_rank);
    extend(0, rounds * spread.from_start, std::min(sent, rounds * spread.others * spread.received));
  }

 private:
  void extend(std::size_t c, long long start_left, long long sends_left) {
    if (++work_ > kMostMoves) return;
    if (c == counts_.size()) {
      if (!extensible(start_left, sends_left)) visit_(move_);
      return;
    }
    const long long by_holders = rounds_ * spread_.per_rank * counts_[c];
    long long most = std::min({spread_.others - counts_[c], by_holders + start_left, sends_left});
    // Of chunks with equal counts, the first gets the most.
    if (c > 0 && counts_[c] == counts_[c - 1]) most = std::min(most, move_[c - 1]);
    long long later = 0;  // copies that chunks behind this one can use
    for (std::size_t d = c + 1; d < counts_.size(); ++d) later += spread_.others - counts_[d];
    for (long long x = most; x >= 0; --x) {
      // One more of this chunk could be sent whatever the others get, and with fewer still.
      const bool sender = x < by_holders || start_left - (x - by_holders) > later;
      if (x < spread_.others - counts_[c] && sender && sends_left - x > later && x < most) break;
      move_[c] = x;
      extend(c + 1, start_left - std::max(0LL, x - by_holders), sends_left - x);
    }
    move_[c] = 0;
  }

  // Could one more copy of some chunk be sent, by first holders or by its own, to a rank that has it not?
  // Then a move with it is visited as well (of equal chunks, perhaps another one gets more), and what it
  // leads to covers what this one would.
  bool extensible(long long start_left, long long sends_left) const {
    if (sends_left == 0) return false;
    for (std::size_t c = 0; c < counts_.size(); ++c) {
      const bool sender = start_left > 0 || move_[c] < rounds_ * spread_.per_rank * counts_[c];
      if (sender && counts_[c] + move_[c] < spread_.others) return true;
    }
    return false;
  }

  const Spread& spread_;
  const Counts& counts_;
  const int rounds_;
  const std::function<void(const Counts&)> visit_;
  long long& work_;
  Counts move_;
};

// All states that can be reached in a number of steps and rounds and that no reachable state covers.
class Growth {
 public:
  explicit Growth(const Spread& spread) : spread_(spread) {
    layers_[{0, 0}].push_back({.counts = Counts(spread.chunks, 0)});
  }

  // Within at most `steps` steps of exactly `rounds` rounds together? None: too many states.
  std::optional<bool> possible(int steps, int rounds) {
    // A step has a round at least, so r < s is empty. Layers are kept: the next question, with one round
    // more, makes the new ones only.
    for (int s = 1; s <= steps; ++s)
      for (int r = s; r <= rounds; ++r)
        if (!fill(s, r)) return std::nullopt;
    for (int s = 1; s <= steps; ++s)
      for (const Node& node : layers_[{s, rounds}])
        if (reaches_goal(node)) return true;
    return false;
  }

  std::vector<GrowthPlan> plans(int steps, int rounds, std::size_t most) {
    std::vector<GrowthPlan> found;
    if (possible(steps, rounds).value_or(false))
      for (int s = steps; s >= 1; --s)
        for (const Node& node : layers_[{s, rounds}])
          if (reaches_goal(node)) trace(s, rounds, node, {}, found, most);
    return found;
  }

 private:
  // Where a state came from, for plans only.
  struct Origin {  // a state with `rounds` fewer rounds and one step less, and what was added to it
    int rounds = 0;
    std::size_t node = 0;
    Counts move = {};
  };
  struct Node {
    Counts counts = {};
    std::vector<Origin> origins = {};
  };
  using Layer = std::vector<Node>;

  // Sorted, so the last chunk has the fewest copies.
  bool reaches_goal(const Node& node) const { return node.counts.back() >= spread_.goal; }

  // Layer (steps, rounds) from all layers of one step less: the last step has r rounds. False if there were
  // too many.
  bool fill(int steps, int rounds) {
    if (layers_.count({steps, rounds}) > 0) return true;
    std::map<Counts, std::vector<Origin>> reached;
    for (int r = 1; r <= rounds; ++r) {
      const auto before = layers_.find({steps - 1, rounds - r});
      if (before == layers_.end()) continue;
      for (std::size_t i = 0; i < before->second.size(); ++i) {
        const auto reach = [&](const Counts& move) {
          Counts next = before->second[i].counts;
          for (std::size_t c = 0; c < next.size(); ++c) next[c] += move[c];
          std::sort(next.begin(), next.end(), std::greater<>());
          std::vector<Origin>& origins = reached[next];
          constexpr std::size_t kKept = 8;  // enough for plans that differ
          if (origins.size() < kKept) origins.push_back({.rounds = r, .node = i, .move = move});
        };
        Moves(spread_, before->second[i].counts, r, reach, work_);
        if (work_ > kMostMoves || reached.size() > 20 * kMostStates) return false;
      }
    }
    layers_[{steps, rounds}] = undominated(std::move(reached));
    return work_ <= kMostMoves && layers_[{steps, rounds}].size() <= kMostStates;
  }

  // More copies never hurt: what the fewer could become, the more can.
  Layer undominated(std::map<Counts, std::vector<Origin>> reached) {
    std::vector<std::pair<Counts, std::vector<Origin>>> all(std::make_move_iterator(reached.begin()),
                                                            std::make_move_iterator(reached.end()));
    const auto sum = [](const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), 0LL); };
    // What covers another has more in all, so it comes before: one pass, each against those that were kept.
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return sum(a.first) > sum(b.first); });
    Layer kept;
    for (auto& [counts, origins] : all) {
      work_ += static_cast<long long>(kept.size());
      const bool dominated = std::any_of(kept.begin(), kept.end(), [&counts = counts](const Node& better) {
        return std::equal(counts.begin(), counts.end(), better.counts.begin(), std::less_equal<>());
      });
      if (!dominated) kept.push_back({.counts = std::move(counts), .origins = std::move(origins)});
    }
    return kept;
  }

  // Backwards from a goal. `later` has the moves after this state, the last first, by index in its order.
  void trace(int steps, int rounds, const Node& node, std::vector<std::pair<int, Counts>> later,
             std::vector<GrowthPlan>& found, std::size_t most) {
    if (found.size() >= most) return;
    if (steps == 0) {
      GrowthPlan plan;
      for (auto step = later.rbegin(); step != later.rend(); ++step) {
        plan.rounds.push_back(step->first);
        plan.copies.emplace_back(step->second.begin(), step->second.end());
      }
      found.push_back(std::move(plan));
      return;
    }
    for (const Origin& origin : node.origins) {
      const Node& before = layers_[{steps - 1, rounds - origin.rounds}][origin.node];
      // The state's order after the move, as indices of the state before.
      std::vector<std::size_t> place(spread_.chunks);
      std::iota(place.begin(), place.end(), 0);
      std::stable_sort(place.begin(), place.end(), [&](std::size_t a, std::size_t b) {
        return before.counts[a] + origin.move[a] > before.counts[b] + origin.move[b];
      });
      std::vector<std::pair<int, Counts>> moves = later;
      for (auto& [r, move] : moves) {
        Counts renamed(spread_.chunks, 0);
        for (std::size_t c = 0; c < place.size(); ++c) renamed[place[c]] = move[c];
        move = std::move(renamed);
      }
      moves.emplace_back(origin.rounds, origin.move);
      trace(steps - 1, rounds - origin.rounds, before, std::move(moves), found, most);
    }
  }

  const Spread spread_;
  std::map<std::pair<int, int>, Layer> layers_ = {};  // by steps and rounds
  long long work_ = 0;
};

struct Class {
  std::vector<Chunk> chunks = {};
  Spread spread = {};
};

std::vector<Rank> by_rate(const std::vector<long long>& rates) {
  std::vector<Rank> ranks(rates.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return rates[a] > rates[b]; });
  return ranks;
}

// The highest rate of a rank that is not among `first`; there are many classes, and few ranks in most
// `first`.
long long most_of_others(const std::vector<long long>& rates, const std::vector<Rank>& fastest,
                         const RankSet& first) {
  const auto at = std::find_if(fastest.begin(), fastest.end(), [&](Rank n) { return !first.contains(n); });
  return at == fastest.end() ? 0 : rates[*at];
}

// Equal chunks that have to move.
std::vector<Class> classes(const Topology& topology, const Collective& copying) {
  const Rates rates{.out = rates_at(topology, &Link::src), .in = rates_at(topology, &Link::dst)};
  const std::vector<Rank> fastest_out = by_rate(rates.out), fastest_in = by_rate(rates.in);
  std::vector<Class> result;
  for (auto& [first, post, chunks] : chunk_classes(copying)) {
    Spread spread{.chunks = std::min(chunks.size(), kMostChunks),
                  .others = topology.ranks - static_cast<long long>(first.size())};
    for (Rank n : post) spread.goal += first.contains(n) ? 0 : 1;
    for (Rank n : first) spread.from_start += rates.out[n];
    spread.per_rank = most_of_others(rates.out, fastest_out, first);
    spread.received = most_of_others(rates.in, fastest_in, first);
    if (spread.goal > 0 && spread.from_start > 0)
      result.push_back({.chunks = std::move(chunks), .spread = spread});
  }
  return result;
}

}  // namespace

GrowthBound growth_bound(const Topology& topology, const Collective& copying, int steps) {
  GrowthBound best;
  if (steps > kMostSteps) return best;
  std::set<Spread> seen;
  for (const Class& one : classes(topology, copying)) {
    // An Allgather has a class for each rank; on a regular machine all are one set of numbers.
    if (!seen.insert(one.spread).second) continue;
    Growth growth(one.spread);
    int rounds = 1;
    // Up, one round at a time: all fewer rounds have been shown to be impossible when this ends, also where
    // it ends since there are too many states. One round is needed by any schedule that moves something, and
    // is not reported as a bound.
    std::optional<bool> possible = growth.possible(steps, rounds);
    while (possible && !*possible) possible = growth.possible(steps, ++rounds);
    if (rounds > std::max(best.rounds, 1)) best = {.rounds = rounds, .chunk = one.chunks.front()};
  }
  return best;
}

std::vector<GrowthPlan> growth_plans(const Topology& topology, const Collective& copying,
                                     const Budget& budget, int most) {
  const std::vector<Class> all = classes(topology, copying);
  if (all.size() != 1 || all[0].chunks.size() > kMostChunks || budget.steps > kMostSteps) return {};
  std::vector<GrowthPlan> plans =
      Growth(all[0].spread).plans(budget.steps, budget.rounds, static_cast<std::size_t>(most));
  for (GrowthPlan& plan : plans)
    for (std::vector<int>& step : plan.copies) {
      std::vector<int> by_chunk(copying.chunks.size(), 0);
      for (std::size_t i = 0; i < step.size(); ++i) by_chunk[all[0].chunks[i]] = step[i];
      step = std::move(by_chunk);
    }
  return plans;
}

}  // namespace chorale
