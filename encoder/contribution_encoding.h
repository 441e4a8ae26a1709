// The CNF encoding of a collective that combines, synthesized directly: one accumulator per (chunk, rank),
// whose state is the set of contributions in it. For all budgets up to a horizon, like StepRoundEncoding.
//
// Variables (c chunk, n rank, i contributing rank, l link, s step 1..S):
//   in(c,n,t,i)    the value that n holds of c at the end of step t contains i's contribution
//   send(c,l,s)    the value of c moves over l in step s
//   keep(c,n,s)    n adds what arrives in step s to its own value; otherwise the first arrival replaces it
//   part(c,l,s,i)  the value sent contains i's contribution
//   pair(c,k,{i,j}) in the combination tree of c, i and j are added up before k is
//   round, within, total as in StepRoundEncoding
//
//   (starts)     in(c,n,0,i) iff n = i and i has a contribution to c
//   (near)       no in(c,n,t,i) where i is more than t hops from n
//   (part)       part(c,l,s,i) <-> send(c,l,s) and in(c,src,s-1,i)
//   (union)      in(c,n,s,i) <-> keep and in(c,n,s-1,i), or some part(c,l,s,i) with l into n
//   (once)       of the terms of (union), at most one is true: a sum is not a union
//   (loses)      not keep(c,n,s) -> some send(c,l,s) with l into n
//   (full)       no send to a rank whose sum is complete
//   (wanted)     within(t) -> in(c,d,t,i) for all destinations d and contributions i
//   (bandwidth)  as in StepRoundEncoding; over a limit that reduces, what one rank gets of one chunk
//                counts once. If a limit can do both, copy(c,l,s) means that the value sent replaces: one
//                of the arrivals does if not keep(c,n,s), and none otherwise; copies count by sender, the
//                others by receiver
//   (agreed)     in(c,n,t,i) and in(c,n,t,j) and not in(c,n,t,k) -> pair(c,k,{i,j}); of the three
//                pairs of i, j and k one is true: the values of ranks are nested or disjoint sets of
//                contributions, as required for all ranks to add up in one order. For a fixed order pair
//                is known. Values that are part of no destination's value need not obey, but then the
//                sends that make them can be left out of the schedule
//   (alike)      i and j come in different terms of (union), and in(c,n,s,k) -> not pair(c,k,{i,j}):
//                equal sums have equal terms, at whatever rank they are made
//   (in pairs)   of keep(c,n,s), where n holds something, and the arrivals at most two
//   (order)      as in StepRoundEncoding, by the first sends to one rank where no ranks are interchangeable
//
// (agreed) is present if the collective requires an order (ir/sum_order.h) and a chunk has several
// destinations, or the order is fixed; (alike) or (in pairs) if the options ask for it. The space is
// that of schedules with one value per (chunk, rank): a rank that would keep two partial sums of one chunk
// apart is outside of it. Those that gather all inputs first are found as "allreduce_by_gather".
#pragma once

#include <vector>

#include "encoder/counter.h"
#include "encoder/step_round_encoding.h"
#include "graph/automorphisms.h"
#include "ir/formula.h"
#include "ir/instance.h"
#include "ir/schedule.h"

namespace chorale {

class ContributionEncoding {
 public:
  // Requires a flattened topology and collective.combining.
  ContributionEncoding(const Topology&, const Collective&, const Budget& horizon,
                       const EncodingOptions& = {});

  const Formula& formula() const { return formula_; }
  std::vector<Lit> assume(const Budget& budget) const { return budget_.assume(budget); }
  Schedule decode(const Assignment&) const;

 private:
  void number_orbits(const std::vector<Automorphism>&);
  void state(Chunk, Rank);
  void value_sent(Chunk, LinkId);
  void part_of(Chunk, LinkId, Rank i);
  void joined(Chunk, Rank, int s, SumsMade);
  void wanted();
  void agreed(Chunk);
  void bandwidth(const std::vector<LinkId>&, int chunks_per_round, Counter, const Abilities& = {});
  void copies(Chunk, Rank, int s);
  void order();
  Lit in(Chunk c, Rank n, int t, Rank i) const {
    return in_((c * topology_.ranks + n) * topology_.ranks + i, t);
  }
  Lit pair(Chunk, Rank k, Rank i, Rank j);
  int links() const { return static_cast<int>(topology_.links.size()); }
  Lit send(Chunk c, LinkId l, int s) const { return send_(c * links() + l, s); }
  Lit keep(Chunk c, Rank n, int s) const { return keep_(c * topology_.ranks + n, s); }
  // kFalse where no limit asks.
  Lit copy(Chunk c, LinkId l, int s) const { return copy_.empty() ? kFalse : copy_(c * links() + l, s); }
  Lit part(Chunk c, LinkId l, int s, Rank i) const {
    return part_((c * links() + l) * topology_.ranks + i, s);
  }
  void add(std::vector<Lit>);

  const Topology topology_;
  const Collective collective_;
  const Budget horizon_;
  Formula formula_ = {};
  RoundBudget budget_;
  std::vector<std::vector<LinkId>> links_into_ = {};
  std::vector<std::vector<int>> hops_ = {};                                // [i][n]
  std::vector<int> link_orbit_ = {}, limit_orbit_ = {}, pair_orbit_ = {};  // smallest members
  OrbitLits in_ = {}, send_ = {}, part_ = {}, keep_ = {}, copy_ = {};      // by time
  std::vector<Lit> pair_ = {};
};

}  // namespace chorale
