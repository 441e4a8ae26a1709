// The idea: a sum is correct if each contribution is in it once, so the state of a (chunk, rank) is the set
// of contributions in its value, and an arrival is a union of which at most one part may have each: (once).
//
// Invariant: in(c,n,t,i) is exactly what the value holds; both directions of (union) are needed, since a
// contribution too many is as wrong as one too few.
//
// What lost: to encode sums with one destination like this. Their duals that copy have a fifth of the
// variables (dgx1 ReduceScatter (3,4,3): 5,474 for 27,770) and are found in 82 conflicts in place of 706, so
// they never come here (construct/engine/solved_question.h).
//
// Variables are chunks * ranks^2 * steps of `in` and chunks * links * ranks * steps of `part`, which is what
// sums cost over copies: there a value is present or not.
#include "encoder/contribution_encoding.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

int pair_number(Chunk c, Rank k, Rank i, Rank j, int ranks) {
  return ((c * ranks + k) * ranks + std::min(i, j)) * ranks + std::max(i, j);
}

}  // namespace

ContributionEncoding::ContributionEncoding(const Topology& topology, const Collective& collective,
                                           const Budget& horizon, const EncodingOptions& options)
    : topology_(topology), collective_(collective), horizon_(horizon), budget_(formula_, horizon) {
  assert(topology.switches == 0 && collective.combining && topology.ranks == collective.ranks);
  const int chunks = static_cast<int>(collective_.chunks.size());
  const int links = static_cast<int>(topology_.links.size());
  const int ranks = topology_.ranks;
  links_into_.resize(ranks);
  for (LinkId l = 0; l < links; ++l) links_into_[topology_.links[l].dst].push_back(l);
  const HopCounts hops(topology_);
  for (Rank i = 0; i < ranks; ++i) hops_.push_back(hops.from({i}));

  number_orbits(options.symmetry);
  for (Chunk c = 0; c < chunks; ++c)
    for (Rank n = 0; n < ranks; ++n)
      if (keep_.is_smallest(c * ranks + n)) state(c, n);
  for (Chunk c = 0; c < chunks; ++c)
    for (LinkId l = 0; l < links; ++l)
      if (send_.is_smallest(c * links + l)) value_sent(c, l);
  for (Chunk c = 0; c < chunks; ++c)
    for (LinkId l = 0; l < links; ++l)
      for (Rank i = 0; i < ranks; ++i)
        if (part_.is_smallest((c * links + l) * ranks + i)) part_of(c, l, i);
  for (Chunk c = 0; c < chunks; ++c)
    for (Rank n = 0; n < ranks; ++n)
      if (keep_.is_smallest(c * ranks + n))
        for (int s = 1; s <= horizon_.steps; ++s)
          joined(c, n, s, asks_order(collective_, c) ? options.sums : SumsMade::Anyhow);
  const bool are_distinguished = std::ranges::any_of(topology_.limits, [](const SharedLimit& limit) {
    return limit.abilities.multicast && limit.abilities.reduce;
  });
  if (are_distinguished) {
    copy_ = OrbitLits(send_.orbits(), horizon_.steps + 1);
    for (Chunk c = 0; c < chunks; ++c)
      for (Rank n = 0; n < ranks; ++n)
        if (keep_.is_smallest(c * ranks + n))
          for (int s = 1; s <= horizon_.steps; ++s) copies(c, n, s);
  }
  wanted();
  for (Chunk c = 0; c < chunks; ++c)
    if (asks_order(collective_, c)) agreed(c);
  for (LinkId l = 0; l < links; ++l)
    if (link_orbit_[l] == l) bandwidth({l}, topology_.links[l].bandwidth, options.counter);
  for (int i = 0; i < static_cast<int>(topology_.limits.size()); ++i)
    if (limit_orbit_[i] == i)
      bandwidth(topology_.limits[i].links, topology_.limits[i].bandwidth, options.counter,
                topology_.limits[i].abilities);
  if (options.symmetry.empty()) order();  // under symmetry it need not be consistent
}

// Variables exist for orbits of what they are about, under the group that the automorphisms generate. A
// symmetry moves the contributor with the rank, so orbits of `in` and `part` are of triples and not of
// (chunk, rank) and (chunk, link).
void ContributionEncoding::number_orbits(const std::vector<Automorphism>& generators) {
  const int chunks = static_cast<int>(collective_.chunks.size());
  const int links = static_cast<int>(topology_.links.size());
  const int ranks = topology_.ranks;
  DisjointSets in(chunks * ranks * ranks), send(chunks * links), keep(chunks * ranks),
      part(chunks * links * ranks), link(links), limit(static_cast<int>(topology_.limits.size()));
  for (const Automorphism& g : generators) {
    const std::optional<std::vector<Chunk>> moved = induced_chunks(collective_, g);
    assert(moved.has_value());
    for (Chunk c = 0; c < chunks; ++c) {
      const Chunk to = (*moved)[c];
      for (LinkId l = 0; l < links; ++l) {
        send.join(c * links + l, to * links + g.links[l]);
        for (Rank i = 0; i < ranks; ++i)
          part.join((c * links + l) * ranks + i, (to * links + g.links[l]) * ranks + g.ranks[i]);
      }
      for (Rank n = 0; n < ranks; ++n) {
        keep.join(c * ranks + n, to * ranks + g.ranks[n]);
        for (Rank i = 0; i < ranks; ++i)
          in.join((c * ranks + n) * ranks + i, (to * ranks + g.ranks[n]) * ranks + g.ranks[i]);
      }
    }
    for (LinkId l = 0; l < links; ++l) link.join(l, g.links[l]);
    for (std::size_t i = 0; i < topology_.limits.size(); ++i) limit.join(static_cast<int>(i), g.limits[i]);
  }
  if (collective_.order.kind == SumOrder::Kind::Agreed && !generators.empty()) {
    DisjointSets pair(chunks * ranks * ranks * ranks);
    for (const Automorphism& g : generators) {
      const std::vector<Chunk> moved = *induced_chunks(collective_, g);
      for (Chunk c = 0; c < chunks; ++c)
        for (Rank k = 0; k < ranks; ++k)
          for (Rank i = 0; i < ranks; ++i)
            for (Rank j = i + 1; j < ranks; ++j)
              pair.join(pair_number(c, k, i, j, ranks),
                        pair_number(moved[c], g.ranks[k], g.ranks[i], g.ranks[j], ranks));
    }
    pair_orbit_ = pair.representatives();
  }
  const int times = horizon_.steps + 1;
  in_ = OrbitLits(in.representatives(), times);
  send_ = OrbitLits(send.representatives(), times);
  part_ = OrbitLits(part.representatives(), times);
  keep_ = OrbitLits(keep.representatives(), times);
  link_orbit_ = link.representatives();
  limit_orbit_ = limit.representatives();
}

// (starts), (near): variables of what a rank may hold.
void ContributionEncoding::state(Chunk c, Rank n) {
  for (int t = 0; t <= horizon_.steps; ++t) {
    for (Rank i = 0; i < topology_.ranks; ++i) {
      const int at = (c * topology_.ranks + n) * topology_.ranks + i;
      if (in_.is_smallest(at) && starts_at(collective_.chunks[c], i) && hops_[i][n] >= 0 && hops_[i][n] <= t)
        in_(at, t) = t == 0 ? kTrue : formula_.fresh();
    }
    keep_(c * topology_.ranks + n, t) = formula_.fresh();
  }
}

// Only a rank that holds something sends, and only to a rank whose sum is not complete: (full).
void ContributionEncoding::value_sent(Chunk c, LinkId l) {
  const Link& link = topology_.links[l];
  for (int s = 1; s <= horizon_.steps; ++s) {
    std::vector<Lit> something, missing;
    for (Rank i : collective_.chunks[c].pre) {
      something.push_back(in(c, link.src, s - 1, i));
      missing.push_back(-in(c, link.dst, s - 1, i));
    }
    if (std::all_of(something.begin(), something.end(), [](Lit lit) { return lit == kFalse; })) continue;
    const Lit moves = formula_.fresh();
    send_(c * links() + l, s) = moves;
    something.push_back(-moves);
    missing.push_back(-moves);
    add(something);
    add(missing);
  }
}

// (part)
void ContributionEncoding::part_of(Chunk c, LinkId l, Rank i) {
  for (int s = 1; s <= horizon_.steps; ++s) {
    const Lit moves = send(c, l, s), held = in(c, topology_.links[l].src, s - 1, i);
    if (moves == kFalse || held == kFalse) continue;
    // What is held for sure is in the value whenever it moves: the send is the part.
    const Lit lit = held == kTrue ? moves : formula_.fresh();
    part_((c * links() + l) * topology_.ranks + i, s) = lit;
    if (held == kTrue) continue;
    add({-lit, moves});
    add({-lit, held});
    add({-moves, -held, lit});
  }
}

// (union), (once), (loses). All arrivals of a step and what the rank keeps are terms of one sum, in no order:
// the value after the step has a contribution if a term has it, and at most one may. To replace means to keep
// nothing: a rank that holds a part of a sum and gets the complete one cannot add the two.
void ContributionEncoding::joined(Chunk c, Rank n, int s, SumsMade made) {
  const Lit keep = this->keep(c, n, s);
  std::vector<Lit> arrivals = {keep};
  for (LinkId l : links_into_[n]) arrivals.push_back(send(c, l, s));
  add(arrivals);
  std::vector<std::vector<Lit>> terms_with(topology_.ranks);  // [i][term]
  for (Rank i = 0; i < topology_.ranks; ++i) {
    const Lit before = in(c, n, s - 1, i), after = in(c, n, s, i);
    std::vector<Lit> terms;
    for (LinkId l : links_into_[n]) terms.push_back(part(c, l, s, i));
    Lit kept = kFalse;
    if (before != kFalse) {
      kept = formula_.fresh();
      add({-kept, keep});
      add({-kept, before});
      add({-keep, -before, kept});
    }
    terms.push_back(kept);
    terms_with[i] = terms;
    std::erase(terms, kFalse);
    for (std::size_t j = 1; j < terms.size(); ++j)  // equal terms (one orbit) would count twice
      if (std::find(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(j), terms[j]) !=
          terms.begin() + static_cast<std::ptrdiff_t>(j))
        add({-terms[j]});
    // At most one counts variables, and a variable is now here once.
    std::sort(terms.begin(), terms.end());
    terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
    at_most_one(formula_, terms);
    for (Lit lit : terms) add({-lit, after});
    terms.push_back(-after);
    add(terms);
  }
  if (made == SumsMade::InPairs) {
    std::erase(arrivals, kFalse);
    for (std::size_t a = 1; a < arrivals.size(); ++a)
      for (std::size_t b = a + 1; b < arrivals.size(); ++b) {
        for (std::size_t more = b + 1; more < arrivals.size(); ++more)
          add({-arrivals[a], -arrivals[b], -arrivals[more]});
        for (const std::vector<Lit>& terms : terms_with) add({-arrivals[a], -arrivals[b], -terms.back()});
      }
  }
  if (made != SumsMade::Alike) return;
  for (const Rank i : collective_.chunks[c].pre)
    for (const Rank j : collective_.chunks[c].pre) {
      if (j <= i) continue;
      const Lit apart = formula_.fresh();
      for (std::size_t a = 0; a < terms_with[i].size(); ++a)
        for (std::size_t b = 0; b < terms_with[j].size(); ++b)
          if (a != b) add({-terms_with[i][a], -terms_with[j][b], apart});
      for (const Rank k : collective_.chunks[c].pre)
        if (k != i && k != j) add({-apart, -in(c, n, s, k), -pair(c, k, i, j)});
    }
}

// A value with all contributions is the sum, since (once) lets none be in it twice.
void ContributionEncoding::wanted() {
  for (int t = 0; t <= horizon_.steps; ++t)
    for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c)
      for (Rank d : collective_.chunks[c].post)
        for (Rank i : collective_.chunks[c].pre)
          if (in_.is_smallest((c * topology_.ranks + d) * topology_.ranks + i))
            add({-budget_.within(t), in(c, d, t, i)});
}

// The literals of a rank that holds a part of the sum: what it has is a node of the tree, for whatever lies
// outside. Ranks of one orbit have the same clauses.
void ContributionEncoding::agreed(Chunk c) {
  const RankSet& pre = collective_.chunks[c].pre;
  const int ranks = topology_.ranks;
  if (pre.size() < 3) return;
  const std::optional<FirstPairs> known = collective_.order.kind == SumOrder::Kind::Fixed
                                              ? std::optional<FirstPairs>(collective_.order.tree)
                                              : std::nullopt;
  const auto pair = [&](Rank k, Rank i, Rank j) -> Lit {
    if (known) return known->first(i, j, k) ? kTrue : kFalse;
    return this->pair(c, k, i, j);
  };
  for (Rank n = 0; n < ranks; ++n) {
    if (!known && !keep_.is_smallest(c * ranks + n)) continue;
    for (int t = 1; t <= horizon_.steps; ++t)
      for (const Rank i : pre)
        for (const Rank j : pre) {
          if (j <= i || in(c, n, t, i) == kFalse || in(c, n, t, j) == kFalse) continue;
          for (const Rank k : pre)
            if (k != i && k != j) add({-in(c, n, t, i), -in(c, n, t, j), in(c, n, t, k), pair(k, i, j)});
        }
  }
  for (const Rank i : pre)
    for (const Rank j : pre)
      for (const Rank k : pre)
        if (!known && i < j && j < k) {
          std::vector<Lit> of_three = {pair(k, i, j), pair(j, i, k), pair(i, j, k)};
          std::ranges::sort(of_three);
          for (std::size_t a = 1; a < 3; ++a)  // equal ones (one orbit) would be two
            if (of_three[a] == of_three[a - 1]) add({-of_three[a]});
          at_most_one(formula_, {of_three.begin(), std::unique(of_three.begin(), of_three.end())});
        }
}

Lit ContributionEncoding::pair(Chunk c, Rank k, Rank i, Rank j) {
  const int ranks = topology_.ranks;
  if (pair_.empty()) pair_.assign(collective_.chunks.size() * ranks * ranks * ranks, kFalse);
  const int at = pair_number(c, k, i, j, ranks);
  Lit& lit = pair_[pair_orbit_.empty() ? at : pair_orbit_[at]];
  if (lit == kFalse) lit = formula_.fresh();
  return lit;
}

// Of what replaces, exactly one is a copy. Under symmetry links of one orbit into one rank are one literal,
// and then both or none would be: equal literals are forbidden to be copies where they would be two.
void ContributionEncoding::copies(Chunk c, Rank n, int s) {
  std::vector<Lit> all, some = {keep(c, n, s)};
  for (LinkId l : links_into_[n]) {
    const Lit moves = send(c, l, s);
    if (moves == kFalse) continue;
    Lit& lit = copy_(c * links() + l, s);
    if (lit != kFalse) {  // of this orbit already
      formula_.add({-lit});
      continue;
    }
    lit = formula_.fresh();
    add({-lit, moves});
    add({-lit, -keep(c, n, s)});
    all.push_back(lit);
    some.push_back(lit);
  }
  at_most_one(formula_, all);
  add(some);
}

// What moves is a value, however many contributions are in it: `part` is not counted.
void ContributionEncoding::bandwidth(const std::vector<LinkId>& over, int chunks_per_round, Counter counter,
                                     const Abilities& abilities) {
  const auto [multicast, reduce] = abilities;
  for (int s = 1; s <= horizon_.steps; ++s) {
    std::vector<Lit> sends;
    std::map<std::pair<Chunk, Rank>, std::vector<Lit>> from, to;  // what counts once
    for (LinkId l : over)
      for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c) {
        const Lit moves = send(c, l, s);
        if (moves == kFalse) continue;
        const Link& link = topology_.links[l];
        if (!abilities.any()) sends.push_back(moves);
        if (multicast) from[{c, link.src}].push_back(reduce ? copy(c, l, s) : moves);
        if (!reduce) continue;
        Lit adds = moves;
        if (multicast) {
          adds = formula_.fresh();
          add({-moves, copy(c, l, s), adds});
        }
        to[{c, link.dst}].push_back(adds);
      }
    for (const auto* values : {&from, &to})
      for (const auto& [value, lits] : *values) sends.push_back(any_of(formula_, lits));
    budget_.bandwidth(formula_, s, sends, chunks_per_round, counter);
  }
}

void ContributionEncoding::order() {
  const std::vector<Automorphism> exchanges = rank_exchanges(topology_, collective_);
  const auto sent = [this](Chunk c, LinkId l, int s) { return send(c, l, s); };
  if (!exchanges.empty()) return order_sends(formula_, collective_, exchanges, horizon_.steps, sent);
  for (const ChunkClass& each : chunk_classes(collective_))
    order_arrivals(formula_, each.chunks, links_into_[each.post[0]], horizon_.steps, sent);
}

Schedule ContributionEncoding::decode(const Assignment& model) const {
  Schedule schedule;
  schedule.steps.resize(horizon_.steps);
  for (int s = 1; s <= horizon_.steps; ++s)
    for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c)
      for (Rank n = 0; n < topology_.ranks; ++n) {
        // Of the arrivals of a step, the first replaces what is there unless it is kept; the others are added
        // to that.
        bool add_up = model[keep(c, n, s)];
        for (LinkId l : links_into_[n]) {
          const Lit lit = send(c, l, s);
          if (lit == kFalse || !model[lit]) continue;
          const bool adds = copy_.empty() ? add_up : !model[copy(c, l, s)];
          schedule.steps[s - 1].sends.push_back({.chunk = c, .link = l, .reduce = adds});
          add_up = true;
        }
      }
  return tidy(topology_, collective_, std::move(schedule));
}

void ContributionEncoding::add(std::vector<Lit> clause) {
  add_unknown_of(std::move(clause), formula_);
}

}  // namespace chorale
