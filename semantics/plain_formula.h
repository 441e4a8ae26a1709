// Is there a schedule within a budget? The verifier's rules (semantics/verify.h) as a formula, one function
// per rule: without pruning, without symmetry, without replacing a sum by its dual, whatever that costs.
// Written from ir/ alone; `chorale check` compares the formulas of the search (encoder/) with it.
//
// A copy is a sum of one contribution: the chunk itself. Variables (c chunk, n rank, l link, s step 1..S, i
// contribution to c):
//   in(c,n,s,i)    the value that n holds of c after step s has contribution i (s = 0: before the first)
//   send(c,l,s)    chunk c is sent over link l in step s
//   part(c,l,s,i)  ... with contribution i
//   keep(c,n,s)    nothing replaces what n holds of c in step s
//   kept(c,n,s,i)  ... and that has contribution i
//   pair(c,k,i,j)  i and j are added up before k is, i < j
//   round(s,j)     step s has at least j rounds
//
//   (start)      in(c,n,0,i) exactly as the collective defines
//   (source)     send(c,l,s) -> some in(c,src,s-1,i)
//   (part)       part(c,l,s,i) <-> send(c,l,s) and in(c,src,s-1,i)
//   (kept)       kept(c,n,s,i) <-> keep(c,n,s) and in(c,n,s-1,i)
//   (replaced)   keep(c,n,s), or some send(c,l,s) with l into n
//   (sum)        in(c,n,s,i) <-> kept(c,n,s,i) or some part(c,l,s,i) with l into n
//   (once)       at most one of the terms of (sum)
//   (complete)   send(c,l,s) -> not in(c,dst,s-1,i) for some i
//   (order)      where an order is required: in(c,n,s,i) and in(c,n,s,j) and not in(c,n,s,k) ->
//                pair(c,k,i,j), and of three contributions one pair; of a fixed order pair(c,k,i,j) is given
//                by its tree
//   (end)        in(c,d,S,i) for all destinations d and all i
//   (bandwidth)  per step and link or shared limit: more than bandwidth * j sends -> round(s,j+1)
//   (rounds)     round(s,j+1) -> round(s,j); at most as many as the budget has
//   (numbered), (exchanged)   see below
//
// Every schedule within the budget that the verifier accepts, its steps at the front, is a model: no rule is
// stricter than the verifier's, but (order), which requires of all values what the verifier requires of those
// that destinations use; useless sends can be left out. Steps may have no rounds, so fewer steps are among
// them; the number of rounds may be left open. Of a copy, part is send and kept is in: all of it is sent, and
// nothing arrives at a rank that has it.
//
// Without a rule that distinguishes equal chunks, k of them make every refutation k! times as long. If two
// chunks have the same pre and post (they are compared here), exchanging their numbers maps schedules to
// schedules; so if there is a schedule, there is one in which such chunks first arrive at one rank in the
// order of their numbers: sort them. That is (numbered).
//
// Ranks may be equal, too: if a machine's links, limits and the collective are the same when two ranks are
// exchanged (they are compared here), the exchange maps schedules to schedules. Of the schedules that such
// exchanges, and those of equal chunks, make of one, take the one whose sends by step, chunk and link are the
// largest binary number. No single exchange makes a larger number of it. That is (exchanged), in place of
// (numbered) where some ranks are equal:
//   (exchanged)  for each two equal ranks, and each two equal chunks, that follow each other: the sends are
//                not below those of the schedule in which the two are exchanged
// These clauses are the only ones that are not a rule of the verifier, and they can be left out.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "ir/formula.h"
#include "ir/instance.h"
#include "ir/schedule.h"

namespace chorale {

class PlainFormula {
 public:
  // Budget::rounds may be kAnyRounds (ir/frontier.h). Requires ranks and links in range, no switches, and
  // that literals() is a number that fits into memory.
  PlainFormula(const Topology&, const Collective&, const Budget&, bool numbered);

  // Estimates how many literals the formula has.
  static double literals(const Topology&, const Collective&, const Budget&);

  const Formula& formula() const { return formula_; }
  // Returns the schedule of a model; the verifier decides whether it is right.
  Schedule schedule(const Assignment&) const;

 private:
  void name_variables();
  void start(Chunk, Rank);
  void source(Chunk, LinkId, int s);
  void part(Chunk, LinkId, int s);
  void kept(Chunk, Rank, int s);
  void replaced(Chunk, Rank, int s);
  void sum(Chunk, Rank, int s);
  void once(Chunk, Rank, int s);
  void complete(Chunk, LinkId, int s);
  void end(Chunk);
  void order(Chunk);
  void bandwidth(std::span<const LinkId>, long long chunks_a_round, int s, const Abilities&);
  void copies();
  std::vector<Lit> values(std::span<const LinkId>, int s, const Abilities&);  // that a limit counts
  void rounds();
  void numbered();
  // Images of links and chunks, each of which is the image of its own.
  struct Exchange {
    std::vector<LinkId> links = {};
    std::vector<Chunk> chunks = {};
  };
  std::optional<Exchange> exchange(Rank, Rank) const;  // nothing where it changes machine or collective
  std::vector<Exchange> exchanges_of_ranks() const;    // of ranks of one kind each with the next one
  void exchanged(std::vector<Exchange>);

  int contributions(Chunk) const;
  bool starts(Chunk, Rank, int i) const;  // with contribution i
  std::vector<Lit> terms(Chunk, Rank, int s, int i) const;
  // Returns literals l_k that must be true where at least k of these are, k = 1 .. most.
  std::vector<Lit> at_least(std::span<const Lit>, long long most);

  Lit in(Chunk, Rank, int s, int i) const;
  Lit send(Chunk, LinkId, int s) const;
  Lit part(Chunk, LinkId, int s, int i) const;
  Lit keep(Chunk, Rank, int s) const;
  Lit kept(Chunk, Rank, int s, int i) const;
  Lit round(int s, int j) const;

  const Topology topology_;
  const Collective collective_;
  const Budget budget_;
  Formula formula_ = {};
  std::vector<std::vector<LinkId>> into_ = {};  // by rank
  // Each is the first variable of a chunk's; the others follow in the order of the loops that name them.
  std::vector<Lit> in_ = {}, send_ = {}, part_ = {}, keep_ = {}, kept_ = {};
  Lit round_ = 0;
  std::map<std::tuple<Chunk, LinkId, int>, Lit> copy_ = {};  // by step as well; where some limit can do both
};

}  // namespace chorale
