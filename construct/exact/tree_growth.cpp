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
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>

#include "bounds/cuts.h"
#include "bounds/demand.h"
#include "construct/engine/network.h"
#include "graph/automorphisms.h"
#include "graph/max_flow.h"

namespace chorale {
namespace {

constexpr std::size_t kMaxEntries = 64;  // of a rank: bits of a word
constexpr std::uint16_t kFar = std::numeric_limits<std::uint16_t>::max();

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

struct Pick {  // at the representative to which the link leads, and so at all of its orbit
  Chunk chunk = 0;
  LinkId link = 0;
};

// What a rank can receive: its links, those with the same bins together, and what they pass.
struct Entries {
  using Bin = LinkOrbits::Share;
  struct Entry {
    std::vector<LinkId> links = {};
    std::vector<Bin> bins = {};  // the one that the fewest of the rank's links pass first
  };
  std::vector<Entry> all = {};
  std::vector<Bin> bins = {};
  std::set<std::pair<int, int>> onward = {};  // from bin to bin, numbers in `bins`; -1: into the rank

  int number(const Bin& bin) const { return static_cast<int>(std::ranges::find(bins, bin) - bins.begin()); }
};

// The question up to a group of symmetries of which only the identity fixes a rank, and which moves chunks as
// it moves the ranks that these start at. What happens at a representative happens, carried over, at all
// ranks of its orbit; so only what representatives receive is decided. Distances are of one breadth-first
// search for each set of ranks that chunks start at.
class Quotient {
 public:
  // `group`: the identity first; more than that only for an Allgather.
  Quotient(const Topology& topology, const Collective& collective, std::vector<std::vector<Rank>> group)
      : topology_(topology), collective_(collective), group_(std::move(group)), orbits_(topology, group_) {
    find_orbits();
    find_distances();
    find_entries();
  }

  const Topology& topology() const { return topology_; }
  int ranks() const { return topology_.ranks; }
  int chunks() const { return static_cast<int>(collective_.chunks.size()); }
  const ChunkSpec& spec(Chunk c) const { return collective_.chunks[c]; }
  const std::vector<Rank>& representatives() const { return representatives_; }
  int index_of(Rank u) const { return index_[u]; }  // of its representative
  const Entries& entries(int representative) const { return entries_[representative]; }
  long long capacity(const Entries::Bin& bin, long long rounds) const {
    return orbits_.capacities()[bin.bin] * rounds / bin.weight;
  }
  // Are the entries of a rank few, and no others bound by their bins? Then ranks are independent.
  bool is_separate() const {
    std::set<int> met;
    return std::ranges::all_of(entries_, [&](const Entries& of) {
      return of.all.size() <= kMaxEntries && std::ranges::all_of(of.bins, [&](const Entries::Bin& bin) {
               return met.insert(bin.bin).second;
             });
    });
  }
  // The chunk that the representative of u has when u has c.
  Chunk carried_back(Rank u, Chunk c) const {
    if (group_.size() == 1) return c;
    const int copies = collective_.chunks_per_block;
    return back_[static_cast<std::size_t>(u) * ranks() + c / copies] * copies + c % copies;
  }

  // Hops from the nearest rank that starts with the chunk, and hops from there on along shortest paths that
  // lead through u.
  int distance(Chunk c, Rank u) const { return distance_[at(c, u)]; }
  int beyond(Chunk c, Rank u) const { return beyond_[at(c, u)]; }
  int farthest() const { return farthest_; }  // greatest distance of any chunk

  // Returns the picks of one step for all ranks; rounds as few as they need.
  Step carried_over(const std::vector<Pick>& picks) const {
    const int copies = collective_.chunks_per_block;
    Step step;
    step.sends.reserve(picks.size() * group_.size());
    for (const Pick& pick : picks)
      if (group_.size() == 1)
        step.sends.push_back({.chunk = pick.chunk, .link = pick.link});
      else
        for (int g = 0; g < std::ssize(group_); ++g)
          step.sends.push_back({.chunk = group_[g][pick.chunk / copies] * copies + pick.chunk % copies,
                                .link = orbits_.image(pick.link, g)});
    std::ranges::sort(step.sends);
    step.rounds = needed_rounds(topology_, step);
    return step;
  }

 private:
  std::size_t at(Chunk c, Rank u) const { return static_cast<std::size_t>(start_[c]) * ranks() + u; }

  // back_[u][m] is the rank that the element of u carries to m: what u has of m, its representative has of
  // that rank.
  void find_orbits() {
    index_.assign(ranks(), -1);
    std::vector<int> element(ranks(), 0);  // that carries the representative to the rank
    for (Rank n = 0; n < ranks(); ++n) {
      if (index_[n] >= 0) continue;
      for (int g = 0; g < std::ssize(group_); ++g) {
        index_[group_[g][n]] = static_cast<int>(representatives_.size());
        element[group_[g][n]] = g;
      }
      representatives_.push_back(n);
    }
    if (group_.size() == 1) return;
    back_.resize(static_cast<std::size_t>(ranks()) * ranks());
    for (Rank u = 0; u < ranks(); ++u)
      for (Rank n = 0; n < ranks(); ++n)
        back_[static_cast<std::size_t>(u) * ranks() + group_[element[u]][n]] = n;
  }

  // Forwards for the distances; then ranks from the farthest to the nearest, so that what lies beyond a rank
  // is known before the ranks that lead to it.
  void find_distances() {
    std::map<RankSet, int> starts;
    for (const ChunkSpec& spec : collective_.chunks)
      start_.push_back(starts.try_emplace(spec.pre, static_cast<int>(starts.size())).first->second);
    std::vector<std::vector<Rank>> after(ranks());
    for (const Link& link : topology_.links) after[link.src].push_back(link.dst);
    distance_.assign(starts.size() * ranks(), kFar);
    beyond_.assign(starts.size() * ranks(), 0);
    for (const auto& [pre, start] : starts) {
      std::uint16_t* const distance = &distance_[static_cast<std::size_t>(start) * ranks()];
      std::uint16_t* const beyond = &beyond_[static_cast<std::size_t>(start) * ranks()];
      std::vector<Rank> order(pre.begin(), pre.end());
      for (Rank n : pre) distance[n] = 0;
      for (std::size_t i = 0; i < order.size(); ++i)
        for (Rank n : after[order[i]])
          if (distance[n] == kFar) {
            distance[n] = static_cast<std::uint16_t>(distance[order[i]] + 1);
            order.push_back(n);
          }
      for (auto n = order.rbegin(); n != order.rend(); ++n)
        for (Rank m : after[*n])
          if (distance[m] == distance[*n] + 1)
            beyond[*n] = std::max<std::uint16_t>(beyond[*n], static_cast<std::uint16_t>(beyond[m] + 1));
      farthest_ = std::max<int>(farthest_, distance[order.back()]);
    }
  }

  void find_entries() {
    std::vector<std::vector<LinkId>> into(representatives_.size());
    for (LinkId l = 0; l < std::ssize(topology_.links); ++l)
      if (orbits_.entering(l) == l) into[index_[topology_.links[l].dst]].push_back(l);
    for (const std::vector<LinkId>& links : into) {
      Entries& of = entries_.emplace_back();
      std::map<int, int> passing;  // by bin: links
      for (const LinkId l : links)
        for (const Entries::Bin& bin : orbits_.shares(l)) ++passing[bin.bin];
      for (const LinkId l : links) {
        std::vector<Entries::Bin> bins = orbits_.shares(l);
        std::ranges::sort(bins, {}, [&](const Entries::Bin& b) { return std::pair(passing[b.bin], b.bin); });
        const auto same = std::ranges::find(of.all, bins, &Entries::Entry::bins);
        if (same == of.all.end())
          of.all.push_back({.links = {l}, .bins = std::move(bins)});
        else
          same->links.push_back(l);
      }
      for (const Entries::Entry& entry : of.all)
        for (const Entries::Bin& bin : entry.bins)
          if (of.number(bin) == std::ssize(of.bins)) of.bins.push_back(bin);
      for (const Entries::Entry& entry : of.all)
        for (std::size_t k = 0; k < entry.bins.size(); ++k)
          of.onward.insert(
              {of.number(entry.bins[k]), k + 1 < entry.bins.size() ? of.number(entry.bins[k + 1]) : -1});
    }
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::vector<std::vector<Rank>> group_;
  const LinkOrbits orbits_;
  std::vector<Rank> representatives_ = {};
  std::vector<int> index_ = {};
  std::vector<Entries> entries_ = {};                       // by representative
  std::vector<Rank> back_ = {};                             // by rank and rank
  std::vector<int> start_ = {};                             // by chunk: which set of ranks it starts at
  std::vector<std::uint16_t> distance_ = {}, beyond_ = {};  // by start and rank
  int farthest_ = 0;
};

// Which chunks representatives have, and since when: what they start with, since step 0, before the first.
class Holdings {
 public:
  explicit Holdings(const Quotient& quotient)
      : quotient_(quotient), since_(quotient.representatives().size() * quotient.chunks(), kFar) {
    for (std::size_t i = 0; i < quotient.representatives().size(); ++i)
      for (Chunk c = 0; c < quotient.chunks(); ++c)
        if (starts_at(quotient.spec(c), quotient.representatives()[i]))
          since_[i * quotient.chunks() + c] = 0;
        else
          ++missing_;
  }
  // Had any rank it from before the step on? Steps count from 1.
  bool had(Rank u, Chunk c, int step) const {
    return since_[at(quotient_.index_of(u), quotient_.carried_back(u, c))] < step;
  }
  bool lacks(int representative, Chunk c) const { return since_[at(representative, c)] == kFar; }
  void take(int representative, Chunk c, int step) {
    since_[at(representative, c)] = static_cast<std::uint16_t>(step);
    --missing_;
  }
  long long missing() const { return missing_; }

 private:
  std::size_t at(int representative, Chunk c) const {
    return static_cast<std::size_t>(representative) * quotient_.chunks() + c;
  }
  const Quotient& quotient_;
  std::vector<std::uint16_t> since_;
  long long missing_ = 0;
};

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

// One rank's part of one step. Nodes of the flow: source 0, sink 1, two for each bin, with its capacity in
// this step between them, two with that of all later steps, and a node for each kind of chunk, from which
// arcs lead to entries of both.
class Receiver {
 public:
  // Of chunks of one kind those that come first in `order`, from a position on, are taken first.
  Receiver(const Quotient& quotient, const Holdings& holdings, int representative, int step,
           const std::vector<Chunk>& order)
      : quotient_(quotient),
        holdings_(holdings),
        representative_(representative),
        step_(step),
        into_(quotient.entries(representative)) {
    find_kinds(order);
    const int bins = static_cast<int>(into_.bins.size()), later = 2 + 2 * bins, kinds = later + 2 * bins;
    flow_ = std::make_unique<MaxFlow>(kinds + static_cast<int>(kinds_.size()));
    for (const auto& [first, arcs] : {std::pair(2, &now_), {later, &later_}}) {
      for (int b = 0; b < bins; ++b) arcs->push_back(flow_->add_arc(first + 2 * b, first + 2 * b + 1, 0));
      for (const auto& [from, to] : into_.onward)
        flow_->add_arc(first + 2 * from + 1, to < 0 ? 1 : first + 2 * to, MaxFlow::kUnbounded);
    }
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const int node = kinds + static_cast<int>(k);
      supply_.push_back(flow_->add_arc(0, node, 0));
      arcs_.emplace_back(into_.all.size(), -1);
      for (std::size_t e = 0; e < into_.all.size(); ++e) {
        const int bin = 2 * into_.number(into_.all[e].bins.front());
        if (kinds_[k].now >> e & 1) arcs_.back()[e] = flow_->add_arc(node, 2 + bin, MaxFlow::kUnbounded);
        if (kinds_[k].later >> e & 1) flow_->add_arc(node, later + bin, MaxFlow::kUnbounded);
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
    set(now_, rounds);
    set(later_, later);
    return flow_->run(0, 1) == wanted;
  }

  // As many as can come now, the most urgent first, such that the others can come later. An augmenting path
  // never takes back room of this step that is used; it only exchanges which chunks use it.
  void pick(int rounds, int later, std::vector<Pick>& picks) {
    for (int arc : supply_) flow_->set_capacity(arc, 0);
    set(now_, rounds);
    set(later_, 0);
    flow_->run(0, 1);
    std::vector<std::size_t> order(kinds_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t k) { return kinds_[k].beyond; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      flow_->widen(supply_[order[i]], static_cast<std::int64_t>(chunks_[order[i]].size()));
      if (i + 1 == order.size() || kinds_[order[i + 1]].beyond != kinds_[order[i]].beyond) flow_->run_on();
    }
    for (std::size_t b = 0; b < later_.size(); ++b)
      flow_->widen(later_[b], quotient_.capacity(into_.bins[b], later));
    flow_->run_on();
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      auto next = chunks_[k].begin();
      for (std::size_t e = 0; e < arcs_[k].size(); ++e)
        for (std::int64_t n = arcs_[k][e] < 0 ? 0 : flow_->flow(arcs_[k][e]); n > 0; --n, ++next)
          picks.push_back({.chunk = *next, .link = link_for(e, *next)});
    }
  }

 private:
  bool nearer(LinkId l, Chunk c) const {
    return quotient_.distance(c, quotient_.topology().links[l].src) + 1 ==
           quotient_.distance(c, quotient_.topology().links[l].dst);
  }
  void set(const std::vector<int>& arcs, long long rounds) {
    for (std::size_t b = 0; b < arcs.size(); ++b)
      flow_->set_capacity(arcs[b], quotient_.capacity(into_.bins[b], rounds));
  }
  bool ready(LinkId l, Chunk c) const {
    return nearer(l, c) && holdings_.had(quotient_.topology().links[l].src, c, step_);
  }
  // The links of an entry take turns.
  LinkId link_for(std::size_t entry, Chunk c) {
    const std::vector<LinkId>& links = into_.all[entry].links;
    while (!ready(links[turn_++ % links.size()], c)) continue;
    return links[(turn_ - 1) % links.size()];
  }

  // The order begins elsewhere for each rank and step, so that of chunks of one kind not all ranks take the
  // same.
  void find_kinds(const std::vector<Chunk>& order) {
    const Rank v = quotient_.representatives()[representative_];
    std::unordered_map<ChunkKind, std::size_t, ChunkKindHash> known;
    const std::size_t first =
        static_cast<std::size_t>(representative_) * 7919 + static_cast<std::size_t>(step_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Chunk c = order[(first + i) % order.size()];
      if (!holdings_.lacks(representative_, c)) continue;
      ChunkKind kind{.beyond = quotient_.beyond(c, v)};
      for (std::size_t e = 0; e < into_.all.size(); ++e)
        for (const LinkId l : into_.all[e].links) {
          if (!nearer(l, c)) continue;
          kind.later |= std::uint64_t{1} << e;
          if (ready(l, c)) kind.now |= std::uint64_t{1} << e;
        }
      const auto [at, fresh] = known.try_emplace(kind, kinds_.size());
      if (fresh) {
        kinds_.push_back(kind);
        chunks_.emplace_back();
      }
      chunks_[at->second].push_back(c);
    }
  }

  const Quotient& quotient_;
  const Holdings& holdings_;
  const int representative_;
  const int step_;
  const Entries& into_;
  std::vector<ChunkKind> kinds_ = {};
  std::vector<std::vector<Chunk>> chunks_ = {};  // by kind
  std::unique_ptr<MaxFlow> flow_;
  std::vector<int> now_ = {}, later_ = {};   // by bin
  std::vector<int> supply_ = {};             // by kind
  std::vector<std::vector<int>> arcs_ = {};  // by kind and entry, of those that come now
  std::size_t turn_ = 0;
};

// In at most `rounds` rounds; nothing where these do not suffice, or when stopped.
std::optional<Schedule> grown(const Quotient& quotient, int rounds, const std::atomic<bool>* stop) {
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
    // Flows are what fits where bins are passed one after the other, as those of switches and NICs are.
    if (schedule.steps.back().rounds > now) return std::nullopt;
    left -= schedule.steps.back().rounds;
  }
  return schedule;
}

}  // namespace

std::vector<Schedule> grow_trees(const Topology& topology, const Collective& collective,
                                 const std::atomic<bool>* stop) {
  if (!copies_to_all(topology, collective)) return {};
  const Quotient quotient(topology, collective, group_for(topology, collective));
  if (!quotient.is_separate()) return {};
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
