// The header states what is encoded; this file keeps it small. Distance decides most of it: a chunk that
// cannot be at a rank yet, or would come too late for every destination from there, has no variable, and the
// constraints are written as if it had (kTrue, kFalse). Under symmetry, variables belong to orbits, named
// by their smallest member.
//
// Invariant: a constraint is written when the loops meet the smallest member of its orbit, and asks for
// literals by orbit, so none is written twice and none is missing. Links of one orbit into one rank are one
// literal: code that counts literals must count them twice.
//
// What lost: a formula for each split of the rounds over the steps, without pruning, as published (13.8 times
// as long in the mean of 268 questions, benchmarks/results/compare.log); sequential counters (1.16 times,
// counters.log).
//
// Why pruning loses nothing: of the sends of a schedule, those that lead to no destination may be dropped,
// and every other one lies between the hops that its chunk has come and the hops that it has to go. A rank's
// `here` ends when its chunk is of no use there any more, which affects no send: a send that has a variable
// has both of its ends within their times, since a link is one hop.
#include "encoder/step_round_encoding.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <utility>

#include "ir/collective.h"
#include "ir/disjoint_sets.h"

namespace chorale {

// -kTrue is kFalse, so a negated literal is known just as the literal is. A clause of which all literals were
// false stays, as the empty one: the formula is then refuted, as it has to be.

void add_unknown_of(std::vector<Lit> clause, Formula& formula) {
  std::size_t kept = 0;
  for (Lit lit : clause) {
    if (lit == kTrue) return;
    if (lit != kFalse) clause[kept++] = lit;
  }
  clause.resize(kept);
  formula.add(clause);
}

// sofar[k]: the chunk has arrived by the k-th (step, link). It may have only if the chunk before it has.
void order_arrivals(Formula& formula, const std::vector<Chunk>& chunks, const std::vector<LinkId>& links,
                    int steps, const SendLits& send) {
  if (chunks.size() < 2) return;
  std::vector<Lit> previous;
  for (const Chunk c : chunks) {
    std::vector<Lit> sofar;
    for (int s = 1; s <= steps; ++s)
      for (const LinkId l : links) {
        const Lit now = send(c, l, s);
        if (now == kFalse) continue;
        const Lit lit = formula.fresh();
        formula.add({-now, lit});
        if (!sofar.empty()) formula.add({-sofar.back(), lit});
        add_unknown_of({-lit, now, sofar.empty() ? kFalse : sofar.back()}, formula);
        sofar.push_back(lit);
      }
    for (std::size_t k = 0; k < previous.size(); ++k) formula.add({-sofar[k], previous[k]});
    previous = std::move(sofar);
  }
}

// A schedule's sends, read as a binary number, are not below those of its images. In one direction: `equal`
// is true where all pairs so far are equal; a solver may set it elsewhere, which only restricts. An exchange
// is its own inverse, so of each two places that it exchanges one is compared.
void order_sends(Formula& formula, const Collective& collective, const std::vector<Automorphism>& exchanges,
                 int steps, const SendLits& send) {
  const auto order = [&](const std::vector<Chunk>& chunk, const std::vector<LinkId>& link) {
    Lit equal = kTrue;
    for (int s = 1; s <= steps; ++s)
      for (Chunk c = 0; c < std::ssize(chunk); ++c)
        for (LinkId l = 0; l < std::ssize(link); ++l) {
          const Lit own = send(c, l, s), image = send(chunk[c], link[l], s);
          if (std::pair(chunk[c], link[l]) <= std::pair(c, l) || own == image) continue;
          const Lit next = formula.fresh();
          add_unknown_of({-equal, -image, own}, formula);
          add_unknown_of({-equal, own, next}, formula);
          add_unknown_of({-equal, -image, next}, formula);
          equal = next;
        }
  };
  for (const Automorphism& ranks : exchanges) order(*induced_chunks(collective, ranks), ranks.links);
  std::vector<Chunk> chunk(collective.chunks.size());
  std::iota(chunk.begin(), chunk.end(), 0);
  const std::vector<Chunk> in_place = chunk;
  std::vector<LinkId> link(exchanges.front().links.size());
  std::iota(link.begin(), link.end(), 0);
  for (const ChunkClass& each : chunk_classes(collective))
    for (std::size_t i = 1; i < each.chunks.size(); ++i) {
      std::swap(chunk[each.chunks[i - 1]], chunk[each.chunks[i]]);
      order(chunk, link);
      chunk = in_place;
    }
}

// The idea: rounds are asked for by what is sent. A step has as many as its fullest link forces it to have,
// the sum of all steps is forced by theirs, and the budget forbids the sum: one direction of each equivalence
// is enough.
//
// Invariant: literals of a unary number fall (round(s,j) -> round(s,j-1)), so that one assumption, "not more
// than R", forbids all that are larger.

// An upper bound on a step's rounds needs no lower one: sends force round(s,j), and those force the sum.
RoundBudget::RoundBudget(Formula& f, const Budget& horizon)
    : horizon_(horizon), round_(horizon.steps + 1), within_(horizon.steps + 1) {
  for (Lit& lit : within_) lit = f.fresh();
  for (int s = 1; s <= horizon.steps; ++s) {
    for (int j = 1; j <= horizon.rounds; ++j) {
      round_[s].push_back(f.fresh());
      if (j > 1) f.add({-round_[s][j - 1], round_[s][j - 2]});
    }
    total_ = s == 1 ? round_[s] : add_unary(f, total_, round_[s], horizon.rounds + 1);
    // Done after t steps: no step after it has a round, so none has a send.
    for (int t = 0; t < s; ++t) f.add({-within_[t], -round_[s][0]});
  }
  for (std::size_t j = 1; j < total_.size(); ++j) f.add({-total_[j], total_[j - 1]});
  if (static_cast<int>(total_.size()) > horizon.rounds) f.add({-total_[horizon.rounds]});
}

void RoundBudget::bandwidth(Formula& f, int s, std::span<const Lit> sends, int chunks_per_round,
                            Counter counter) {
  for (Lit lit : sends) f.add({-lit, round_[s][0]});
  // One round is enough for all of them: nothing to count. Beyond, only every chunks_per_round-th output asks
  // for a round more.
  if (static_cast<int>(sends.size()) <= chunks_per_round) return;
  const int most = chunks_per_round * horizon_.rounds;
  const std::vector<Lit> number = count(f, sends, most + 1, counter);
  for (std::size_t k = 1; k < number.size(); ++k) f.add({-number[k], number[k - 1]});
  for (int k = chunks_per_round + 1; k <= static_cast<int>(number.size()); k += chunks_per_round) {
    const int needed = (k + chunks_per_round - 1) / chunks_per_round;
    if (needed <= horizon_.rounds)
      f.add({-number[k - 1], round_[s][needed - 1]});
    else
      f.add({-number[k - 1]});
  }
}

std::vector<Lit> RoundBudget::assume(const Budget& budget) const {
  assert(budget.steps <= horizon_.steps && budget.rounds <= horizon_.rounds);
  std::vector<Lit> assumptions = {within_[budget.steps]};
  if (budget.rounds < static_cast<int>(total_.size())) assumptions.push_back(-total_[budget.rounds]);
  return assumptions;
}

StepRoundEncoding::StepRoundEncoding(const Topology& topology, const Collective& collective,
                                     const Budget& horizon, const EncodingOptions& options)
    : topology_(topology), collective_(collective), horizon_(horizon), budget_(formula_, horizon) {
  assert(topology.switches == 0 && !collective.combining && topology.ranks == collective.ranks);
  const int chunks = static_cast<int>(collective_.chunks.size());
  const int links = static_cast<int>(topology_.links.size());
  links_into_.resize(topology_.ranks);
  for (LinkId l = 0; l < links; ++l) links_into_[topology_.links[l].dst].push_back(l);

  prune();
  number_orbits(options);
  for (Chunk c = 0; c < chunks; ++c)
    for (Rank n = 0; n < topology_.ranks; ++n) {
      if (!here_.is_smallest(c * topology_.ranks + n)) continue;
      stays(c, n);
      arrives(c, n);
      one(c, n);
    }
  for (Chunk c = 0; c < chunks; ++c)
    for (LinkId l = 0; l < links; ++l)
      if (send_.is_smallest(c * links + l)) moves(c, l);
  wanted();
  for (LinkId l = 0; l < links; ++l)
    if (link_orbit_[l] == l) bandwidth({l}, topology_.links[l].bandwidth, options.counter);
  for (int i = 0; i < static_cast<int>(topology_.limits.size()); ++i)
    if (limit_orbit_[i] == i)
      bandwidth(topology_.limits[i].links, topology_.limits[i].bandwidth, options.counter,
                topology_.limits[i].abilities.multicast);
  if (options.symmetry.empty()) order();  // under symmetry it need not be consistent
}

// Which (chunk, rank) can matter when. A rank that has the chunk from the start is there at 0 and receives
// nothing. Chunks share their sets, so there is one search for each set; `never` is a step that no horizon
// has.
void StepRoundEncoding::prune() {
  const int never = horizon_.steps + 1;
  const Topology back = reversed(topology_);
  std::map<RankSet, std::vector<int>> from, to;
  for (const ChunkSpec& spec : collective_.chunks) {
    auto& forward = from[spec.pre];
    if (forward.empty()) forward = hops(topology_, spec.pre);
    auto& backward = to[spec.post];
    if (backward.empty()) backward = hops(back, spec.post);
    for (Rank n = 0; n < topology_.ranks; ++n) {
      earliest_.push_back(forward[n] < 0 ? never : std::min(forward[n], never));
      remaining_.push_back(backward[n] < 0 ? never : std::min(backward[n], never));
    }
  }
}

// Variables exist for orbits: of (chunk, rank) and (chunk, link), under the group that the automorphisms
// generate. Members of an orbit are pruned alike, since a symmetry keeps hops, so the smallest one's times
// are those of all.
void StepRoundEncoding::number_orbits(const EncodingOptions& options) {
  const int chunks = static_cast<int>(collective_.chunks.size());
  const int links = static_cast<int>(topology_.links.size());
  const int ranks = topology_.ranks;
  DisjointSets here(chunks * ranks), send(chunks * links), link(links),
      limit(static_cast<int>(topology_.limits.size()));
  for (const Automorphism& g : options.symmetry) {
    const std::optional<std::vector<Chunk>> moved = induced_chunks(collective_, g);
    assert(moved.has_value());
    for (Chunk c = 0; c < chunks; ++c) {
      for (Rank n = 0; n < ranks; ++n) here.join(c * ranks + n, (*moved)[c] * ranks + g.ranks[n]);
      for (LinkId l = 0; l < links; ++l) send.join(c * links + l, (*moved)[c] * links + g.links[l]);
    }
    for (LinkId l = 0; l < links; ++l) link.join(l, g.links[l]);
    for (std::size_t i = 0; i < topology_.limits.size(); ++i) limit.join(static_cast<int>(i), g.limits[i]);
  }
  const int times = horizon_.steps + 1;
  here_ = OrbitLits(here.representatives(), times);
  send_ = OrbitLits(send.representatives(), times);
  link_orbit_ = link.representatives();
  limit_orbit_ = limit.representatives();
  for (int i = 0; i < chunks * ranks; ++i) {
    if (!here_.is_smallest(i)) continue;
    const bool starts = starts_at(collective_.chunks[i / ranks], i % ranks);
    const int first = starts ? 0 : earliest_[i], last = horizon_.steps - (starts ? 0 : remaining_[i]);
    for (int t = first; t <= last; ++t) here_(i, t) = starts ? kTrue : formula_.fresh();
  }
  for (int i = 0; i < chunks * links; ++i) {
    if (!send_.is_smallest(i)) continue;
    const Chunk c = i / links;
    const Link& l = topology_.links[i % links];
    if (starts_at(collective_.chunks[c], l.dst)) continue;
    if (options.nearer && remaining_[c * ranks + l.dst] >= remaining_[c * ranks + l.src]) continue;
    for (int s = earliest_[c * ranks + l.src] + 1; s + remaining_[c * ranks + l.dst] <= horizon_.steps; ++s)
      send_(i, s) = formula_.fresh();
  }
}

// Within the times that have a variable: before, it is false, and after, it is not used.
void StepRoundEncoding::stays(Chunk c, Rank n) {
  const int i = c * topology_.ranks + n;
  for (int t = earliest_[i]; t + 1 + remaining_[i] <= horizon_.steps; ++t)
    add({-here(c, n, t), here(c, n, t + 1)});
}

// From the first time at which it can be there, but not at 0: what is there then has not come.
void StepRoundEncoding::arrives(Chunk c, Rank n) {
  const int i = c * topology_.ranks + n;
  for (int t = std::max(1, earliest_[i]); t + remaining_[i] <= horizon_.steps; ++t) {
    std::vector<Lit> clause = {-here(c, n, t), here(c, n, t - 1)};
    for (LinkId l : links_into_[n]) clause.push_back(send(c, l, t));
    add(std::move(clause));
  }
}

// The second clause forbids to bring what is there, so an arrival is new; with (one) it is the only one.
void StepRoundEncoding::moves(Chunk c, LinkId l) {
  const Link& link = topology_.links[l];
  for (int s = 1; s <= horizon_.steps; ++s) {
    if (send(c, l, s) == kFalse) continue;
    add({-send(c, l, s), here(c, link.src, s - 1)});
    add({-send(c, l, s), -here(c, link.dst, s - 1)});
    add({-send(c, l, s), here(c, link.dst, s)});
  }
}

void StepRoundEncoding::one(Chunk c, Rank n) {
  for (int s = 1; s <= horizon_.steps; ++s) {
    std::vector<Lit> sends;
    for (LinkId l : links_into_[n])
      if (send(c, l, s) != kFalse) sends.push_back(send(c, l, s));
    // Two links of one orbit are one variable: both or neither, and both would be two arrivals.
    std::sort(sends.begin(), sends.end());
    for (std::size_t i = 1; i < sends.size(); ++i)
      if (sends[i] == sends[i - 1]) formula_.add({-sends[i]});
    sends.erase(std::unique(sends.begin(), sends.end()), sends.end());
    at_most_one(formula_, sends);
  }
}

// A destination has a variable up to the horizon, or is out of reach, and then within(t) is false.
void StepRoundEncoding::wanted() {
  for (int t = 0; t <= horizon_.steps; ++t)
    for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c)
      for (Rank d : collective_.chunks[c].post)
        if (here_.is_smallest(c * topology_.ranks + d)) add({-budget_.within(t), here(c, d, t)});
}

// Counts as often as a literal stands there: two links of an orbit under one limit send both, and take two of
// its chunks. A limit that only reduces counts every copy, since a rank gets one of a chunk.
void StepRoundEncoding::bandwidth(const std::vector<LinkId>& links, int chunks_per_round, Counter counter,
                                  bool multicast) {
  for (int s = 1; s <= horizon_.steps; ++s) {
    std::vector<Lit> sends;
    std::map<std::pair<Chunk, Rank>, std::vector<Lit>> from;  // sends that count once
    for (LinkId l : links)
      for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c) {
        if (send(c, l, s) == kFalse) continue;
        if (multicast)
          from[{c, topology_.links[l].src}].push_back(send(c, l, s));
        else
          sends.push_back(send(c, l, s));
      }
    for (const auto& [value, copies] : from) sends.push_back(any_of(formula_, copies));
    budget_.bandwidth(formula_, s, sends, chunks_per_round, counter);
  }
}

void StepRoundEncoding::order() {
  const std::vector<Automorphism> exchanges = rank_exchanges(topology_, collective_);
  const auto sent = [this](Chunk c, LinkId l, int s) { return send(c, l, s); };
  if (!exchanges.empty()) return order_sends(formula_, collective_, exchanges, horizon_.steps, sent);
  for (const auto& [pre, post, chunks] : chunk_classes(collective_)) {
    const auto d = std::ranges::find_if(post, [&](Rank n) { return !pre.contains(n); });
    if (d != post.end()) order_arrivals(formula_, chunks, links_into_[*d], horizon_.steps, sent);
  }
}

Schedule StepRoundEncoding::decode(const Assignment& model) const {
  const int chunks = static_cast<int>(collective_.chunks.size());
  Schedule schedule;
  schedule.steps.resize(horizon_.steps);  // steps after the budget's are empty, and dropped
  for (int s = 1; s <= horizon_.steps; ++s)
    for (Chunk c = 0; c < chunks; ++c)
      for (LinkId l = 0; l < static_cast<int>(topology_.links.size()); ++l)
        if (const Lit lit = send(c, l, s); lit != kFalse && model[lit])
          schedule.steps[s - 1].sends.push_back({.chunk = c, .link = l});
  return tidy(topology_, collective_, std::move(schedule));
}

void StepRoundEncoding::add(std::initializer_list<Lit> clause) {
  add(std::vector<Lit>(clause));
}

void StepRoundEncoding::add(std::vector<Lit> clause) {
  add_unknown_of(std::move(clause), formula_);
}

}  // namespace chorale
