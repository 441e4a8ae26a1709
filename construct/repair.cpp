// A schedule of copies is, for each chunk, a forest that grows from its sources. Where an edge is lost, what
// hangs below it keeps together and is attached again: along the path from what still stands that is the
// shortest by the load of links (construct/engine/load.h), all kept edges counted first. An edge keeps its
// step, or goes in the one after that of the edge above it; then all is retimed (construct/retiming.h),
// which closes the gaps.
//
// A sum for one destination is a reversed copy. A sum for all goes up a tree and down a tree from one root,
// and both are forests of copies, one of them reversed: a ReduceScatter + Allgather, rings and trees have
// this form, exchanges of sums do not. What lost: to search for the value that replaces each lost one in a
// sum, which has no answer as soon as a rank has to pass on two sums of one chunk.
#include "construct/repair.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "construct/engine/load.h"
#include "construct/engine/spreading.h"
#include "construct/engine/work_budget.h"
#include "construct/retiming.h"
#include "graph/paths.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

constexpr long long kRepairEffort = 30'000'000;
constexpr double kHop = 1e-3;  // of equally loaded paths the one of fewer links

struct Branch {  // of a chunk's forest
  LinkId link = -1;
  int step = 0;
};
using CopyForest = std::vector<std::optional<Branch>>;  // by rank: how it gets the chunk

// Links by their ends; of parallel ones the emptiest is taken.
class LinksByEnds {
 public:
  explicit LinksByEnds(const Topology& topology) : topology_(topology), out_(topology.ranks) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      between_[{topology.links[l].src, topology.links[l].dst}].push_back(l);
      out_[topology.links[l].src].push_back(l);
    }
  }
  std::optional<LinkId> emptiest(Rank src, Rank dst, const Load& load) const {
    const auto at = between_.find({src, dst});
    if (at == between_.end()) return std::nullopt;
    return *std::ranges::min_element(at->second, {}, [&](LinkId l) { return load.price(l); });
  }
  const std::vector<LinkId>& out_of(Rank n) const { return out_[n]; }

 private:
  const Topology& topology_;
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> between_ = {};
  std::vector<std::vector<LinkId>> out_;
};

// CopyForests of chunks from some ranks to others.
struct CopyForests {
  std::vector<ChunkSpec> chunks = {};
  std::vector<CopyForest> forests = {};
};

// Hangs what is cut off. False where a rank cannot be reached.
class Regrowth {
 public:
  Regrowth(const Topology& topology, CopyForests& copies)
      : topology_(topology), wires_(topology), copies_(copies), load_(topology) {
    for (const CopyForest& forest : copies.forests)
      for (const std::optional<Branch>& branch : forest)
        if (branch) load_.add(branch->link);
  }

  bool regrow() {
    for (std::size_t c = 0; c < copies_.chunks.size(); ++c)
      if (!regrow(copies_.chunks[c], copies_.forests[c])) return false;
    return true;
  }

 private:
  bool regrow(const ChunkSpec& spec, CopyForest& forest) {
    std::vector<bool> stands(topology_.ranks, false);
    for (Rank n : spec.pre) {
      stands[n] = true;
      forest[n].reset();
    }
    settle(forest, stands);
    for (Rank d : spec.post)
      while (!stands[d]) {
        // What d hangs on: the root of its piece.
        Rank root = d;
        for (int up = 0; forest[root] && up < topology_.ranks; ++up)
          root = topology_.links[forest[root]->link].src;
        if (!hang(root, forest, stands)) return false;
        settle(forest, stands);
      }
    return true;
  }

  // What hangs below what stands, stands.
  void settle(const CopyForest& forest, std::vector<bool>& stands) const {
    for (bool more = true; more;) {
      more = false;
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (!stands[n] && forest[n] && stands[topology_.links[forest[n]->link].src]) stands[n] = more = true;
    }
  }

  // The cheapest path from what stands to the rank. Ranks on it are detached from their old parents. What
  // hangs below these stays with them.
  bool hang(Rank to, CopyForest& forest, const std::vector<bool>& stands) {
    std::vector<Rank> standing;
    for (Rank n = 0; n < topology_.ranks; ++n)
      if (stands[n]) standing.push_back(n);
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const std::vector<LinkId> into =
        cheapest_paths(topology_.ranks, standing, 0.0, kNever, [&](Rank n, double so_far, const auto& reach) {
          for (LinkId l : wires_.out_of(n)) reach(topology_.links[l].dst, l, so_far + load_.price(l) + kHop);
        }).by;
    if (into[to] < 0) return false;
    for (Rank n = to; !stands[n]; n = topology_.links[into[n]].src) {
      if (forest[n]) load_.add(forest[n]->link, -1);
      forest[n] = Branch{.link = into[n], .step = forest[n] ? forest[n]->step : 0};
      load_.add(into[n]);
    }
    return true;
  }

  const Topology& topology_;
  const LinksByEnds wires_;
  CopyForests& copies_;
  Load load_;
};

// Each in its step, or the one after that of the branch above it.
Schedule schedule_of(const Topology& topology, const CopyForests& copies, bool reduce) {
  Schedule schedule;
  for (Chunk c = 0; c < std::ssize(copies.forests); ++c) {
    std::vector<int> step(topology.ranks, -2);
    for (Rank n : copies.chunks[c].pre) step[n] = -1;
    for (bool more = true; more;) {
      more = false;
      for (Rank n = 0; n < topology.ranks; ++n) {
        const std::optional<Branch>& branch = copies.forests[c][n];
        if (step[n] != -2 || !branch || step[topology.links[branch->link].src] == -2) continue;
        step[n] = std::max(branch->step, step[topology.links[branch->link].src] + 1);
        more = true;
        if (std::ssize(schedule.steps) <= step[n]) schedule.steps.resize(step[n] + 1);
        schedule.steps[step[n]].sends.push_back({.chunk = c, .link = branch->link, .reduce = reduce});
      }
    }
  }
  return schedule;
}

// The part of the old schedule that still can be, as forests; `reduce`: of the sends that add, or of those
// that do not. A link that is there between the same ranks stands for the old one, whatever its number was. A
// second send of a chunk to a rank is left out: a forest has one.
class Remains {
 public:
  Remains(const Task& before, const MovedParts& moves, const Task& now)
      : before_(before), moves_(moves), now_(now), wires_(now.topology), load_(now.topology) {}

  std::vector<CopyForest> forests(const Schedule& schedule, bool reduce, long long& lost) {
    std::vector<CopyForest> forests(now_.collective.chunks.size(), CopyForest(now_.topology.ranks));
    for (int s = 0; s < std::ssize(schedule.steps); ++s)
      for (const Send& send : schedule.steps[s].sends) {
        if (send.reduce != reduce) continue;
        const Link& link = before_.topology.links[send.link];
        const Rank src = moves_.ranks[link.src], dst = moves_.ranks[link.dst];
        const Chunk c = moves_.chunks[send.chunk];
        const std::optional<LinkId> there =
            src < 0 || dst < 0 || c < 0 ? std::nullopt : wires_.emptiest(src, dst, load_);
        if (!there) {
          ++lost;
          continue;
        }
        if (forests[c][dst]) continue;  // came before
        load_.add(*there);
        forests[c][dst] = Branch{.link = *there, .step = s};
      }
    return forests;
  }

 private:
  const Task& before_;
  const MovedParts& moves_;
  const Task& now_;
  const LinksByEnds wires_;
  Load load_;
};

std::optional<Schedule> copies_patched(const Task& before, const Schedule& schedule, const MovedParts& moves,
                                       const Task& now, long long& lost) {
  CopyForests copies{.chunks = now.collective.chunks,
                     .forests = Remains(before, moves, now).forests(schedule, false, lost)};
  if (!Regrowth(now.topology, copies).regrow()) return std::nullopt;
  return schedule_of(now.topology, copies, false);
}

// Where each chunk of a sum for all is complete first: the rank that does not send its sum on, if all others
// do once.
std::vector<std::optional<Rank>> roots(const Task& before, const Schedule& schedule, const MovedParts& moves,
                                       const Task& now) {
  std::vector<std::vector<int>> sent(now.collective.chunks.size(),
                                     std::vector<int>(before.topology.ranks, 0));
  for (const Step& step : schedule.steps)
    for (const Send& send : step.sends)
      if (send.reduce && moves.chunks[send.chunk] >= 0)
        ++sent[moves.chunks[send.chunk]][before.topology.links[send.link].src];
  std::vector<std::optional<Rank>> result;
  for (const std::vector<int>& times : sent) {
    const auto silent = std::ranges::find(times, 0);
    const bool tree =
        std::ranges::count(times, 0) == 1 && std::ranges::count(times, 1) == std::ssize(times) - 1;
    const Rank root = tree ? moves.ranks[silent - times.begin()] : -1;
    result.push_back(root >= 0 ? std::optional(root) : std::nullopt);
  }
  return result;
}

// Up is a forest of copies on the reversed machine, from the root to the contributors, and down one from the
// root to the destinations. The two are one after the other at first; retiming lets them overlap.
std::optional<Schedule> sums_patched(const Task& before, const Schedule& schedule, const MovedParts& moves,
                                     const Task& now, long long& lost) {
  const std::vector<std::optional<Rank>> at = roots(before, schedule, moves, now);
  // Up, seen backwards, and down: copies from the root.
  const Topology back_before = reversed(before.topology), back_now = reversed(now.topology);
  // Only what adds goes up.
  Schedule ups = schedule;
  for (Step& step : ups.steps) std::erase_if(step.sends, [](const Send& send) { return !send.reduce; });
  CopyForests up{.forests = Remains({back_before, before.collective}, moves, {back_now, now.collective})
                                .forests(reversed(ups, true), true, lost)};
  CopyForests down{.forests = Remains(before, moves, now).forests(schedule, false, lost)};
  for (std::size_t c = 0; c < now.collective.chunks.size(); ++c) {
    const ChunkSpec& spec = now.collective.chunks[c];
    const Rank root = at[c].value_or(spec.pre[c % spec.pre.size()]);
    if (!at[c]) {
      up.forests[c].assign(now.topology.ranks, std::nullopt);
      down.forests[c].assign(now.topology.ranks, std::nullopt);
    }
    up.chunks.push_back({.pre = {root}, .post = spec.pre});
    down.chunks.push_back({.pre = {root}, .post = spec.post});
  }
  if (!Regrowth(back_now, up).regrow() || !Regrowth(now.topology, down).regrow()) return std::nullopt;
  return sequence(reversed(schedule_of(back_now, up, true), true), schedule_of(now.topology, down, false));
}

bool has_one_destination(const Collective& collective) {
  return std::ranges::all_of(collective.chunks, [](const ChunkSpec& spec) { return spec.post.size() <= 1; });
}

}  // namespace

MovedParts moves_without(const std::vector<Rank>& gone, const Collective& before) {
  MovedParts moves;
  Rank next = 0;
  for (Rank n = 0; n < before.ranks; ++n)
    moves.ranks.push_back(std::ranges::binary_search(gone, n) ? -1 : next++);
  moves.chunks.resize(before.chunks.size());
  std::iota(moves.chunks.begin(), moves.chunks.end(), 0);
  if (gone.empty()) return moves;
  // Blocks are in the order of their sources, then of their destinations (make_collective).
  Chunk left = 0;
  const auto is_gone = [&](const RankSet& set) { return set.size() == 1 && moves.ranks[set.front()] < 0; };
  for (std::size_t c = 0; c < before.chunks.size(); ++c)
    moves.chunks[c] = is_gone(before.chunks[c].pre) || is_gone(before.chunks[c].post) ? -1 : left++;
  return moves;
}

// What comes of it is raw: steps as they were, rounds not counted. It is tidied and retimed, and each result
// is verified; only a sum that is added up in another order than requested is dropped without an error.
Patched patched(const Task& before, const Schedule& schedule, const MovedParts& moves, const Task& now,
                const std::atomic<bool>* stop) {
  Patched result;
  for (const Step& step : schedule.steps) result.sends += std::ssize(step.sends);
  std::optional<Schedule> raw;
  if (!before.collective.combining) {
    raw = copies_patched(before, schedule, moves, now, result.lost);
  } else if (has_one_destination(before.collective)) {
    const Topology back_before = reversed(before.topology), back_now = reversed(now.topology);
    const Collective copies_before = dual(before.collective), copies_now = dual(now.collective);
    raw = copies_patched({back_before, copies_before}, reversed(schedule, false), moves,
                         {back_now, copies_now}, result.lost);
    if (raw) raw = reversed(*raw, true);
  } else {
    raw = sums_patched(before, schedule, moves, now, result.lost);
  }
  if (!raw) return result;
  WorkBudget effort(kRepairEffort, stop);
  Schedule whole = tidy(now.topology, now.collective, std::move(*raw));
  std::vector<Schedule> all = retimings(now.topology, whole, effort);
  keep_undominated(result.schedules, std::move(whole));
  for (Schedule& each : all) keep_undominated(result.schedules, std::move(each));
  std::erase_if(result.schedules, [&](const Schedule& each) {
    const auto wrong = violations(now.topology, now.collective, each, 1);
    if (!wrong.empty() && wrong.front().kind != Fault::Kind::Order)
      throw std::logic_error("a schedule that we repaired is wrong: " + wrong.front().words);
    return !wrong.empty();
  });
  return result;
}

}  // namespace chorale
