// If chunks come over shortest paths only, ranks are independent: a rank chooses, for each chunk that it
// lacks, an entry whose other end is one hop nearer, and whatever the others choose, no cycle can arise. So
// the question whether all chunks can still be received in the remaining rounds is one small flow per rank,
// from kinds of chunks to entries.
//
// A step takes as many rounds as all ranks can use: what an entry offers in this step goes to chunks that its
// other end had before, or is lost; what it offers later goes to any chunk. The widest step such that
// everything still fits is found rank by rank, since a step that is too wide for one is too wide. Of the
// chunks that could come now, those with the longest path still ahead come first.
//
// Invariant: after each step, every rank can receive what it lacks over shortest paths in the remaining
// rounds.
//
// What lost: growth over any paths under Edmonds' condition (1973), with a flow after each try of a step.
// Packing in time (timed_packing.h) and the engine have its rates, and its steps but for single answers.
#include "construct/exact/tree_growth.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>

#include "bounds/cuts.h"
#include "bounds/demand.h"
#include "construct/exact/quotient_instance.h"
#include "graph/automorphisms.h"
#include "graph/max_flow.h"

namespace chorale {
namespace {

constexpr std::size_t kMostEntries = 64;  // of a rank

bool few_entries(const QuotientInstance& quotient) {
  for (std::size_t i = 0; i < quotient.representatives().size(); ++i)
    if (quotient.entries(static_cast<int>(i)).size() > kMostEntries) return false;
  return true;
}

// Is each chunk copied from some ranks to all others, all within reach?
bool copies_to_all(const Topology& topology, const Collective& collective) {
  if (collective.combining || topology.ranks < 2 || collective.chunks.empty()) return false;
  std::set<RankSet> starts;
  for (const ChunkSpec& spec : collective.chunks) {
    starts.insert(spec.pre);
    for (Rank n = 0; n < topology.ranks; ++n)
      if (!starts_at(spec, n) && !ends_at(spec, n)) return false;
  }
  const bool anywhere = all_reach_all(topology);
  return std::ranges::all_of(starts, [&](const RankSet& pre) {
    return !pre.empty() && std::ssize(pre) < topology.ranks &&
           (anywhere || std::ranges::min(hops(topology, pre)) >= 0);
  });
}

std::vector<std::vector<Rank>> group_for(const Topology& topology, const Collective& collective) {
  if (collective.kind == CollectiveKind::Allgather) return digit_shifts(topology);
  std::vector<Rank> identity(topology.ranks);
  std::iota(identity.begin(), identity.end(), 0);
  return {identity};
}

struct ChunkKind {
  std::uint64_t now = 0;    // entries on a shortest path whose other end has the chunk
  std::uint64_t later = 0;  // all entries on a shortest path
  int beyond = 0;
  bool operator==(const ChunkKind&) const = default;
};

struct ChunkKindHash {
  std::size_t operator()(const ChunkKind& kind) const {
    return (kind.now * 0x9E3779B97F4A7C15ULL ^ kind.later) * 0xC2B2AE3D27D4EB4FULL +
           static_cast<std::size_t>(kind.beyond) * 0x165667B19E3779F9ULL;
  }
};

// One rank's part of one step. Nodes of the flow: source 0, sink 1, the network of this step, that of all
// later steps, and a node for each kind of chunk, from which arcs lead to entries of both.
class Receiver {
 public:
  // Of chunks of one kind those that come first in `order`, from a position on, are taken first.
  Receiver(const QuotientInstance& quotient, const Holdings& holdings, int representative, int step,
           const std::vector<Chunk>& order)
      : quotient_(quotient), holdings_(holdings), representative_(representative), step_(step) {
    find_kinds(order);
    const int receiver = ReceiverNetwork::nodes(quotient, representative);
    const int sink = 1, kinds = 2 + 2 * receiver;
    flow_ = std::make_unique<MaxFlow>(kinds + static_cast<int>(kinds_.size()));
    now_ = std::make_unique<ReceiverNetwork>(quotient, representative, *flow_, 2, sink);
    later_ = std::make_unique<ReceiverNetwork>(quotient, representative, *flow_, 2 + receiver, sink);
    const int entries = static_cast<int>(quotient.entries(representative).size());
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const int node = kinds + static_cast<int>(k);
      supply_.push_back(flow_->add_arc(0, node, 0));
      arcs_.emplace_back(entries, -1);
      for (int e = 0; e < entries; ++e) {
        if (kinds_[k].now >> e & 1)
          arcs_.back()[e] = flow_->add_arc(node, now_->node_of(e), MaxFlow::kUnbounded);
        if (kinds_[k].later >> e & 1) flow_->add_arc(node, later_->node_of(e), MaxFlow::kUnbounded);
      }
    }
  }

  bool fits(int rounds, int later) {
    std::int64_t wanted = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const auto count = static_cast<std::int64_t>(chunks_[k].size());
      flow_->set_capacity(supply_[k], count);
      wanted += count;
    }
    now_->set(*flow_, rounds);
    later_->set(*flow_, later);
    return flow_->run(0, 1) == wanted;
  }

  // As many as can come now, the most urgent first, such that the others can come later. An augmenting path
  // never takes back room of this step that is used; it only exchanges which chunks use it.
  void pick(int rounds, int later, std::vector<Pick>& picks) {
    for (int arc : supply_) flow_->set_capacity(arc, 0);
    now_->set(*flow_, rounds);
    later_->set(*flow_, 0);
    flow_->run(0, 1);
    std::vector<std::size_t> order(kinds_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t k) { return kinds_[k].beyond; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      flow_->widen(supply_[order[i]], static_cast<std::int64_t>(chunks_[order[i]].size()));
      if (i + 1 == order.size() || kinds_[order[i + 1]].beyond != kinds_[order[i]].beyond) flow_->run_on();
    }
    later_->widen(*flow_, later);
    flow_->run_on();
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      auto next = chunks_[k].begin();
      for (std::size_t e = 0; e < arcs_[k].size(); ++e)
        for (std::int64_t n = arcs_[k][e] < 0 ? 0 : flow_->flow(arcs_[k][e]); n > 0; --n, ++next)
          picks.push_back({.chunk = *next, .link = link_for(static_cast<int>(e), *next)});
    }
  }

 private:
  bool nearer(LinkId l, Chunk c) const {
    return quotient_.distance(c, quotient_.topology().links[l].src) + 1 ==
           quotient_.distance(c, quotient_.topology().links[l].dst);
  }
  bool ready(LinkId l, Chunk c) const {
    return nearer(l, c) && holdings_.had(quotient_.topology().links[l].src, c, step_);
  }

  // The order begins elsewhere for each rank and step, so that of chunks of one kind not all ranks take the
  // same.
  void find_kinds(const std::vector<Chunk>& order) {
    const std::vector<Entry>& entries = quotient_.entries(representative_);
    const Rank v = quotient_.representatives()[representative_];
    std::unordered_map<ChunkKind, std::size_t, ChunkKindHash> known;
    const std::size_t first =
        static_cast<std::size_t>(representative_) * 7919 + static_cast<std::size_t>(step_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Chunk c = order[(first + i) % order.size()];
      if (!holdings_.lacks(representative_, c)) continue;
      ChunkKind kind{.beyond = quotient_.beyond(c, v)};
      for (std::size_t e = 0; e < entries.size(); ++e)
        for (LinkId l : entries[e].links) {
          if (!nearer(l, c)) continue;
          kind.later |= std::uint64_t{1} << e;
          if (holdings_.had(quotient_.topology().links[l].src, c, step_)) kind.now |= std::uint64_t{1} << e;
        }
      const auto [at, fresh] = known.try_emplace(kind, kinds_.size());
      if (fresh) {
        kinds_.push_back(kind);
        chunks_.emplace_back();
      }
      chunks_[at->second].push_back(c);
    }
  }

  // An entry's links are equivalent; they are used round-robin.
  LinkId link_for(int entry, Chunk c) {
    const std::vector<LinkId>& links = quotient_.entries(representative_)[entry].links;
    for (std::size_t tries = 0; tries < links.size(); ++tries)
      if (const LinkId l = links[turn_++ % links.size()]; ready(l, c)) return l;
    assert(false);
    return -1;
  }

  const QuotientInstance& quotient_;
  const Holdings& holdings_;
  const int representative_;
  const int step_;
  std::vector<ChunkKind> kinds_ = {};
  std::vector<std::vector<Chunk>> chunks_ = {};  // by kind
  std::unique_ptr<MaxFlow> flow_;
  std::unique_ptr<ReceiverNetwork> now_, later_;
  std::vector<int> supply_ = {};             // by kind
  std::vector<std::vector<int>> arcs_ = {};  // by kind and entry, of those that come now
  std::size_t turn_ = 0;
};

// In at most `rounds` rounds; nothing where these do not suffice, or when stopped.
std::optional<Schedule> grown(const QuotientInstance& quotient, int rounds, const std::atomic<bool>* stop) {
  std::mt19937 random(1);
  std::vector<Chunk> order(quotient.chunks());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  const int representatives = static_cast<int>(quotient.representatives().size());
  Holdings holdings(quotient);
  Schedule schedule;
  int left = rounds;
  while (holdings.missing() > 0) {
    const int step = static_cast<int>(schedule.steps.size()) + 1;
    // The width only falls from rank to rank, and is searched by bisection at each rank for which it is too
    // wide.
    int now = left;
    for (int i = 0; i < representatives && now > 0; ++i) {
      if (stop != nullptr && *stop) return std::nullopt;
      Receiver receiver(quotient, holdings, i, step, order);
      if (receiver.fits(now, left - now)) continue;
      int fit = 0, fail = now;
      while (fit + 1 < fail) {
        const int middle = fit + (fail - fit) / 2;
        (receiver.fits(middle, left - middle) ? fit : fail) = middle;
      }
      now = fit;
    }
    if (now < 1) return std::nullopt;
    std::vector<Pick> picks;
    for (int i = 0; i < representatives; ++i) {
      const std::size_t before = picks.size();
      Receiver(quotient, holdings, i, step, order).pick(now, left - now, picks);
      for (std::size_t p = before; p < picks.size(); ++p) holdings.take(i, picks[p].chunk, step);
    }
    if (picks.empty()) return std::nullopt;
    schedule.steps.push_back(quotient.carried_over(picks));
    left -= schedule.steps.back().rounds;
  }
  return schedule;
}

}  // namespace

std::vector<Schedule> grow_trees(const Topology& topology, const Collective& collective,
                                 const std::atomic<bool>* stop) {
  if (!copies_to_all(topology, collective)) return {};
  const QuotientInstance quotient(topology, collective, group_for(topology, collective));
  if (!few_entries(quotient) || !quotient.is_separate()) return {};
  // What the group makes of a destination has the same cuts.
  const std::vector<Rank>& each = quotient.representatives();
  const std::optional<PriceBound> cut =
      tightest_cut(topology, wanted_classes(collective), stop,
                   std::ssize(each) < topology.ranks ? each : std::vector<Rank>());
  if (!cut) return {};
  std::vector<Schedule> schedules;
  if (std::optional<Schedule> one = grown(quotient, std::max(rounds_shown(*cut), quotient.farthest()), stop))
    schedules.push_back(*std::move(one));
  return schedules;
}

}  // namespace chorale
