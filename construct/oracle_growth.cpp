// A step is tried with a number of rounds: what a link offers in them is used or lost, what it offers in the
// rounds after them stays for everything else. The widest step is taken after which everything can still be
// had, which the feasibility oracle decides (feasibility_oracle.h). Depth by depth, and no tree is finished
// before another: so trees are low, and the steps of a schedule are their depths. Packing trees first and
// then sending over them in a pipeline, as is usual, lost: depths that are full together are no property of a
// packing (mesh:8x8 in 38 steps 18 % above what this reaches in 14).
//
// Two methods to try a step:
// - With one representative for many ranks, what it picks all of its orbit picks, so only the whole step can
//   be tested. Where blocks of ranks are entered over few links, a chunk enters a block once: of chunks that
//   the group maps to each other within the block, one is picked, since the rank's mates pick the others.
// - Without a group, rank after rank: picks of one rank leave all others what they need exactly if they leave
//   it to itself, as only sets of ranks with it have a link less to be entered by. So the rank's own flow
//   decides which of its picks are too many. Shared limits make ranks interact: then all ranks are tested
//   after the step.
//
// Invariant: after each step, FeasibilityOracle::passes with the rounds that are left.
#include "construct/oracle_growth.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "bounds/max_flow.h"
#include "construct/feasibility_oracle.h"
#include "construct/receiver_network.h"

namespace chorale {
namespace {

struct Tried {
  bool passed = false;
  Holdings holdings;
  std::vector<Pick> picks = {};
};

// The entries (as a bit set) over which v can receive a chunk that it lacks and whose other end had it before
// the step.
std::uint64_t entries_now(const QuotientInstance& quotient, const Holdings& holdings, int representative,
                          Chunk c, int step) {
  const std::vector<Entry>& entries = quotient.entries(representative);
  std::uint64_t now = 0;
  for (std::size_t e = 0; e < entries.size(); ++e)
    if (std::ranges::any_of(entries[e].links, [&](LinkId l) {
          return holdings.had(quotient.topology().links[l].src, c, step);
        }))
      now |= std::uint64_t{1} << e;
  return now;
}

LinkId link_of(const QuotientInstance& quotient, const Holdings& holdings, int representative, int entry,
               Chunk c, int step, std::size_t turn) {
  const std::vector<LinkId>& links = quotient.entries(representative)[entry].links;
  for (std::size_t i = 0;; ++i)
    if (const LinkId l = links[(turn + i) % links.size()];
        holdings.had(quotient.topology().links[l].src, c, step))
      return l;
}

// Orbits at once.
class TogetherStep {
 public:
  TogetherStep(const QuotientInstance& quotient, const FeasibilityOracle& guard,
               const std::vector<int>& block)
      : quotient_(quotient), oracle_(guard), block_(block) {}

  Tried run(const Holdings& before, int step, int rounds, long long later) const {
    Tried tried{.holdings = before};
    for (int i = 0; i < static_cast<int>(quotient_.representatives().size()); ++i) {
      const std::size_t first = tried.picks.size();
      pick(before, i, step, rounds, tried.picks);
      for (std::size_t p = first; p < tried.picks.size(); ++p)
        tried.holdings.take(i, tried.picks[p].chunk, step);
    }
    tried.passed = !tried.picks.empty() && oracle_.passes(tried.holdings, later) &&
                   quotient_.carried_over(tried.picks).rounds <= rounds;
    return tried;
  }

 private:
  // Does no rank of v's block have the chunk? And which others are its images within the block?
  bool is_entry(const Holdings& before, Rank v, Chunk c) const {
    for (Rank u = 0; u < quotient_.ranks(); ++u)
      if (u != v && block_[u] == block_[v] && before.has(u, c)) return false;
    return true;
  }

  void pick(const Holdings& before, int i, int step, int rounds, std::vector<Pick>& picks) const {
    const Rank v = quotient_.representatives()[i];
    const bool blocks = std::ranges::count(block_, block_[v]) < quotient_.ranks();
    struct Candidate {
      Chunk chunk = 0;
      std::uint64_t now = 0;
      int coset = -1;
      int supply = 0;
      std::vector<int> arcs = {};
    };
    std::vector<Candidate> candidates;
    std::map<Chunk, int> cosets;  // by the least chunk of each
    for (Chunk c = 0; c < quotient_.chunks(); ++c) {
      if (!before.lacks(i, c)) continue;
      Candidate candidate{.chunk = c, .now = entries_now(quotient_, before, i, c, step)};
      if (candidate.now == 0) continue;
      if (blocks && is_entry(before, v, c)) {
        Chunk least = c;
        for (Rank u = 0; u < quotient_.ranks(); ++u)
          if (block_[u] == block_[v] && quotient_.index_of(u) == i)
            least = std::min(least, quotient_.carried_back(u, c));
        candidate.coset = cosets.try_emplace(least, static_cast<int>(cosets.size())).first->second;
      }
      candidates.push_back(candidate);
    }
    const int receiver = ReceiverNetwork::nodes(quotient_, i);
    const int first_coset = 2 + receiver, first = first_coset + static_cast<int>(cosets.size());
    MaxFlow flow(first + static_cast<int>(candidates.size()));
    const ReceiverNetwork now(quotient_, i, flow, 2, 1);
    now.set(flow, rounds);
    for (int k = 0; k < static_cast<int>(cosets.size()); ++k) flow.add_arc(0, first_coset + k, 1);
    for (std::size_t x = 0; x < candidates.size(); ++x) {
      Candidate& candidate = candidates[x];
      const int node = first + static_cast<int>(x);
      candidate.supply = candidate.coset >= 0 ? flow.add_arc(first_coset + candidate.coset, node, 1)
                                              : flow.add_arc(0, node, 0);
      for (std::size_t e = 0; e < quotient_.entries(i).size(); ++e)
        candidate.arcs.push_back(
            candidate.now >> e & 1 ? flow.add_arc(node, now.node_of(static_cast<int>(e)), 1) : -1);
    }
    flow.run(0, 1);
    for (const Candidate& candidate : candidates)
      if (candidate.coset < 0) flow.widen(candidate.supply, 1);
    flow.run_on();
    for (const Candidate& candidate : candidates)
      for (std::size_t e = 0; e < candidate.arcs.size(); ++e)
        if (candidate.arcs[e] >= 0 && flow.flow(candidate.arcs[e]) > 0)
          picks.push_back({.chunk = candidate.chunk,
                           .link = link_of(quotient_, before, i, static_cast<int>(e), candidate.chunk, step,
                                           static_cast<std::size_t>(candidate.chunk))});
  }

  const QuotientInstance& quotient_;
  const FeasibilityOracle& oracle_;
  const std::vector<int>& block_;
};

// Rank after rank.
class AloneStep {
 public:
  AloneStep(const QuotientInstance& quotient, const FeasibilityOracle& guard, std::mt19937& random)
      : quotient_(quotient), oracle_(guard), random_(random) {
    for (const SharedLimit& limit : quotient.topology().limits) {
      Rank only = limit.links.empty() ? -1 : quotient.topology().links[limit.links.front()].dst;
      for (LinkId l : limit.links)
        if (quotient.topology().links[l].dst != only) only = -1;
      into_.push_back(only);
    }
  }

  Tried run(const Holdings& before, int step, int rounds, long long later) {
    Tried tried{.holdings = before};
    used_.assign(quotient_.bins().size(), 0);
    done_.assign(quotient_.ranks(), false);
    std::vector<Rank> order(quotient_.ranks());
    for (Rank n = 0; n < quotient_.ranks(); ++n) order[n] = n;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
    for (Rank v : order) {
      const std::size_t first = tried.picks.size();
      if (!pick(tried.holdings, v, step, rounds, later, tried.picks)) return tried;
      for (std::size_t p = first; p < tried.picks.size(); ++p)
        tried.holdings.take(v, tried.picks[p].chunk, step);
      done_[v] = true;
    }
    tried.passed =
        !tried.picks.empty() &&
        (quotient_.topology().limits.empty() ||
         (oracle_.passes(tried.holdings, later) && quotient_.carried_over(tried.picks).rounds <= rounds));
    return tried;
  }

 private:
  struct Lacked {
    Chunk chunk = 0;
    std::uint64_t now = 0;
    int urgent = 0;
    int entry = -1;  // picked
  };

  // False if v could then not have all that it lacks.
  bool pick(const Holdings& holdings, Rank v, int step, int rounds, long long later,
            std::vector<Pick>& picks) {
    std::vector<Lacked> lacked;
    for (Chunk c = 0; c < quotient_.chunks(); ++c)
      if (holdings.lacks(v, c))
        lacked.push_back({.chunk = c,
                          .now = entries_now(quotient_, holdings, v, c, step),
                          .urgent = quotient_.beyond(c, v)});
    if (lacked.empty()) return true;
    for (std::size_t i = lacked.size(); i > 1; --i) std::swap(lacked[i - 1], lacked[random_() % i]);
    std::ranges::stable_sort(lacked, std::ranges::greater{}, &Lacked::urgent);
    choose(v, rounds, later, lacked);
    if (!leave_enough(holdings, v, rounds, later, lacked)) return false;
    for (const Lacked& x : lacked) {
      if (x.entry < 0) continue;
      const Entry& entry = quotient_.entries(v)[x.entry];
      for (const Entry::Passed& p : entry.bins) used_[p.bin] += p.weight;
      picks.push_back({.chunk = x.chunk,
                       .link = link_of(quotient_, holdings, v, x.entry, x.chunk, step,
                                       static_cast<std::size_t>(x.chunk))});
    }
    return true;
  }

  // As many as can come now, such that the others have room later on short paths, as far as this rank alone
  // determines.
  void choose(Rank v, int rounds, long long later, std::vector<Lacked>& lacked) const {
    const int entries = static_cast<int>(quotient_.entries(v).size());
    const int receiver = ReceiverNetwork::nodes(quotient_, v), first = 2 + 2 * receiver;
    MaxFlow flow(first + static_cast<int>(lacked.size()));
    const ReceiverNetwork now(quotient_, v, flow, 2, 1), after(quotient_, v, flow, 2 + receiver, 1);
    now.set(flow, rounds, used_);
    after.set(flow, later);
    struct Arcs {
      int supply = 0;
      std::vector<int> now = {};
      std::vector<std::pair<int, int>> later = {};  // detour, arc
    };
    std::vector<Arcs> arcs;
    for (std::size_t x = 0; x < lacked.size(); ++x) {
      const int node = first + static_cast<int>(x);
      Arcs& of = arcs.emplace_back();
      of.supply = flow.add_arc(0, node, 0);
      for (int e = 0; e < entries; ++e) {
        of.now.push_back(lacked[x].now >> e & 1 ? flow.add_arc(node, now.node_of(e), 1) : -1);
        int detour = kMostDetour + 1;
        for (LinkId l : quotient_.entries(v)[e].links)
          detour = std::min(detour, quotient_.distance(lacked[x].chunk, quotient_.topology().links[l].src) -
                                        quotient_.distance(lacked[x].chunk, v));
        if (detour <= kMostDetour) of.later.push_back({detour, flow.add_arc(node, after.node_of(e), 0)});
      }
    }
    flow.run(0, 1);
    for (std::size_t x = 0; x < lacked.size(); ++x) {
      if (lacked[x].now != 0) flow.widen(arcs[x].supply, 1);
      if (x + 1 == lacked.size() || lacked[x + 1].urgent != lacked[x].urgent) flow.run_on();
    }
    for (const Arcs& of : arcs) flow.widen(of.supply, 1);
    for (int detour = -1; detour <= kMostDetour; ++detour) {
      for (const Arcs& of : arcs)
        for (const auto& [far, arc] : of.later)
          if (far == detour) flow.widen(arc, 1);
      flow.run_on();
    }
    for (std::size_t x = 0; x < lacked.size(); ++x)
      for (int e = 0; e < entries; ++e)
        if (arcs[x].now[e] >= 0 && flow.flow(arcs[x].now[e]) > 0) lacked[x].entry = e;
  }

  // Can what is not picked flow to v over what is left? If not, picks may change, and be fewer.
  bool leave_enough(const Holdings& holdings, Rank v, int rounds, long long later,
                    std::vector<Lacked>& lacked) const {
    const CapacityNetwork& network = oracle_.network();
    const int sink = network.nodes, source = sink + 1, first = source + 1;
    const int receiver = first + static_cast<int>(lacked.size());
    MaxFlow flow(receiver + ReceiverNetwork::nodes(quotient_, v));
    const ReceiverNetwork now(quotient_, v, flow, receiver, sink);
    now.set(flow, rounds, used_);
    const auto wanted = static_cast<std::int64_t>(lacked.size());
    flow.add_arc(v, sink, wanted);
    struct Later {
      std::size_t x = 0;
      int arc = 0;
    };
    std::vector<Later> of_picked;
    std::vector<std::vector<int>> arcs(lacked.size());
    for (std::size_t x = 0; x < lacked.size(); ++x) {
      const int node = first + static_cast<int>(x);
      flow.add_arc(source, node, 1);
      for (std::size_t e = 0; e < quotient_.entries(v).size(); ++e)
        arcs[x].push_back(lacked[x].now >> e & 1
                              ? flow.add_arc(node, now.node_of(static_cast<int>(e)),
                                             lacked[x].entry == static_cast<int>(e) ? 1 : 0)
                              : -1);
      for (Rank u = 0; u < quotient_.ranks(); ++u)
        if (u != v && holdings.has(u, lacked[x].chunk)) {
          const int arc = flow.add_arc(node, u, lacked[x].entry < 0 ? 1 : 0);
          if (lacked[x].entry >= 0) of_picked.push_back({x, arc});
        }
    }
    const Topology& topology = quotient_.topology();
    for (const NetworkArc& arc : network.arcs) {
      if (arc.from == v) continue;
      long long wide = wanted;
      if (arc.link >= 0) {
        const Link& link = topology.links[arc.link];
        wide = link.bandwidth * (later + (link.dst == v || done_[link.dst] ? 0 : rounds));
      } else if (arc.limit >= 0) {
        const Rank into = into_[arc.limit];
        const bool past = into >= 0 && (into == v || done_[into]);
        const long long capacity = topology.limits[arc.limit].bandwidth;
        wide = capacity * later;
        if (!past) wide += std::max(0LL, capacity * rounds - used_[quotient_.bin_of_limit(arc.limit)]);
      }
      flow.add_arc(arc.from, arc.to, wide);
    }
    std::int64_t flows = flow.run(source, sink);
    if (flows == wanted) return true;
    for (const Later& of : of_picked) flow.widen(of.arc, 1);
    for (const std::vector<int>& of : arcs)
      for (int arc : of)
        if (arc >= 0) flow.widen(arc, 1);
    flows += flow.run_on();
    for (std::size_t x = 0; x < lacked.size(); ++x) {
      lacked[x].entry = -1;
      for (std::size_t e = 0; e < arcs[x].size(); ++e)
        if (arcs[x][e] >= 0 && flow.flow(arcs[x][e]) > 0) lacked[x].entry = static_cast<int>(e);
    }
    return flows == wanted;
  }

  // Hops by which a path that is kept free may be longer than the shortest, less one.
  static constexpr int kMostDetour = 2;
  const QuotientInstance& quotient_;
  const FeasibilityOracle& oracle_;
  std::mt19937& random_;
  std::vector<Rank> into_ = {};  // by limit: the one rank that all its links lead to, -1 if there are more
  std::vector<long long> used_ = {};  // by bin, in the step that is tried
  std::vector<bool> done_ = {};       // by rank: has picked
};

}  // namespace

std::optional<Schedule> grow_with_oracle(const QuotientInstance& quotient, int rounds, int most,
                                         const std::vector<int>& block, unsigned seed, WorkBudget& effort) {
  std::mt19937 random(seed);
  const FeasibilityOracle guard(quotient);
  const TogetherStep together(quotient, guard, block);
  AloneStep alone(quotient, guard, random);
  Holdings holdings(quotient);
  Schedule schedule;
  const long long relaxations =
      1LL * quotient.chunks() * quotient.ranks() * std::ssize(quotient.representatives());
  int left = rounds, target = rounds, previous = rounds;
  while (holdings.missing() > 0) {
    const int step = static_cast<int>(schedule.steps.size()) + 1;
    const auto attempt = [&](int now) {
      return quotient.order() > 1 ? together.run(holdings, step, now, left - now)
                                  : alone.run(holdings, step, now, left - now);
    };
    // The widest that passes, as far as widths that pass are below those that do not.
    std::optional<Tried> best;
    int pass = 0, fail = left + 1;
    for (int now = std::clamp(previous, 1, std::max(1, left)); pass + 1 < fail;) {
      if (!effort.affords(relaxations)) return std::nullopt;
      effort.spend(relaxations);
      Tried tried = attempt(now);
      if (tried.passed) {
        best = std::move(tried);
        pass = now;
      } else {
        fail = now;
      }
      now = fail == left + 1 ? std::min(2 * pass, left) : pass + (fail - pass) / 2;
      if (now == pass) break;
    }
    if (!best) {
      // One more, then more and more: where nothing comes of it, it is not tried for every number of rounds.
      const int more = 1 + (target - rounds) / 2;
      target += more;
      left += more;
      if (target > most) return std::nullopt;
      continue;
    }
    previous = 2 * pass;
    holdings = best->holdings;
    schedule.steps.push_back(quotient.carried_over(best->picks));
    left -= schedule.steps.back().rounds;
  }
  return schedule;
}

}  // namespace chorale
