// The CNF encoding of a collective that does not combine, for all budgets up to a horizon of steps and
// rounds.
//
// Variables (c chunk, n rank, l link, s step 1..S):
//   here(c,n,t)   rank n has chunk c at the end of step t (t = 0: before the first)
//   send(c,l,s)   chunk c moves over link l in step s
//   round(s,j)    step s has at least j rounds
//   within(t)     the schedule is done after t steps              (assumption)
//   total(j)      all steps together have at least j rounds       (negated: assumption)
//
// Only what distance allows has a variable: c is not at n before it can be there, and is not sent to n when
// from there it would reach no destination by the horizon any more. Constraints, one function of the same
// name each:
//
//   (stays)      here(c,n,t) -> here(c,n,t+1)
//   (arrives)    here(c,n,t) and not here(c,n,t-1) -> some send(c,l,t) with l into n
//   (moves)      send(c,l,s) -> here(c,src,s-1), not here(c,dst,s-1), here(c,dst,s)
//   (one)        at most one of the send(c,l,s) with l into n: with (moves), one arrival per (chunk, rank)
//   (wanted)     within(t) -> here(c,d,t) for each destination d of c
//   (bandwidth)  per step and link or shared limit: number of sends <= bandwidth * rounds of the step; over a
//                limit that multicasts, the sends of one chunk from one rank count once, by a literal that
//                each of them implies
//   (rounds)     total counts all rounds; within(t) -> not round(s,1) for s > t
//   (order)      of the schedules that symmetries carry to each other, not all need be found. Where ranks are
//                interchangeable: the sends by step, chunk and link, as a binary number, are not below those
//                of the schedule in which two ranks, or two equal chunks, are exchanged; the largest of all
//                images obeys. Elsewhere chunks with equal pre- and postcondition arrive at one chosen rank
//                in the order of their numbers, by (step, link): every schedule can be renumbered so
//
// Rounds of a step may be 0 (then the step is dropped): "at most S steps" is one formula. An Unsat of the
// formula of a claim is what its DRAT proof refutes.
//
// Symmetric schedules: with generators of a group of automorphisms, variables of one orbit are one variable
// and of the constraints of an orbit one is written. With `nearer`, only sends that bring their chunk nearer
// to a destination have a variable. Models are schedules; an Unsat implies nothing about others.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "encoder/counter.h"
#include "graph/automorphisms.h"
#include "ir/formula.h"
#include "ir/instance.h"
#include "ir/schedule.h"

namespace chorale {

// Literals that are true or false before the solver starts: an encoding writes its constraints as if each
// fact had a variable, and known facts are eliminated from the clauses.

inline constexpr Lit kTrue = std::numeric_limits<Lit>::max();
inline constexpr Lit kFalse = -kTrue;

// Adds the clause without its kFalse literals; not at all where one is kTrue.
void add_unknown_of(std::vector<Lit> clause, Formula&);

// Literals of things by time: one for all things that symmetries carry to each other, and kFalse until it is
// assigned.
class OrbitLits {
 public:
  OrbitLits() = default;
  // `orbit`: by thing, the smallest member of its orbit.
  OrbitLits(std::vector<int> orbit, int times)
      : orbit_(std::move(orbit)), times_(times), lits_(orbit_.size() * times, kFalse) {}

  bool empty() const { return orbit_.empty(); }
  bool is_smallest(int thing) const { return orbit_[thing] == thing; }
  const std::vector<int>& orbits() const { return orbit_; }
  Lit& operator()(int thing, int t) { return lits_[static_cast<std::size_t>(orbit_[thing]) * times_ + t]; }
  Lit operator()(int thing, int t) const {
    return lits_[static_cast<std::size_t>(orbit_[thing]) * times_ + t];
  }

 private:
  std::vector<int> orbit_ = {};
  int times_ = 0;
  std::vector<Lit> lits_ = {};
};

// A literal of the sends by chunk, link and step.
using SendLits = std::function<Lit(Chunk, LinkId, int)>;

// (order) of machines without interchangeable ranks: these chunks come over these links, all that lead to one
// rank, in the order in which they are listed. Requires equal chunks, whose sends are pruned alike.
void order_arrivals(Formula&, const std::vector<Chunk>&, const std::vector<LinkId>&, int steps,
                    const SendLits&);
// (order) of others, by exchanges of ranks that preserve machine and collective, one or more.
void order_sends(Formula&, const Collective&, const std::vector<Automorphism>& exchanges, int steps,
                 const SendLits&);

// Rounds of steps and their sum in CNF: the part that all encodings over a budget share. The header of
// StepRoundEncoding specifies (bandwidth) and (rounds).

class RoundBudget {
 public:
  RoundBudget(Formula&, const Budget& horizon);  // (rounds)

  Lit within(int t) const { return within_[t]; }
  // (bandwidth): in step s at most chunks_per_round * rounds of the step of these sends.
  void bandwidth(Formula&, int s, std::span<const Lit> sends, int chunks_per_round, Counter);
  // Assumptions for "at most this budget", which must lie within the horizon.
  std::vector<Lit> assume(const Budget&) const;

 private:
  Budget horizon_;
  std::vector<std::vector<Lit>> round_ = {};  // [s][j-1]: step s has at least j rounds
  std::vector<Lit> within_ = {};              // [t]: done after t steps
  std::vector<Lit> total_ = {};               // [j-1]: at least j rounds in all
};

// How sums are made: of values that meet at a rank in a step; equal sums of equal values, at whatever rank
// they are made; of no more than two values in a step, which implies the second.
enum class SumsMade { Anyhow, Alike, InPairs };

struct EncodingOptions {
  std::vector<Automorphism> symmetry = {};  // generators; empty: all schedules
  bool nearer = false;               // only sends to ranks that have fewer hops to a destination; not of sums
  SumsMade sums = SumsMade::Anyhow;  // of collectives that combine and ask for an agreed order
  Counter counter = Counter::Totalizer;
};

class StepRoundEncoding {
 public:
  // `horizon`: the largest budget that will be asked for. Requires a flattened topology,
  // !collective.combining, and that every automorphism preserves the collective.
  StepRoundEncoding(const Topology&, const Collective&, const Budget& horizon, const EncodingOptions& = {});

  const Formula& formula() const { return formula_; }
  // Assumptions for "at most this budget", which must lie within the horizon.
  std::vector<Lit> assume(const Budget& budget) const { return budget_.assume(budget); }
  // The schedule of a model, without empty steps and without sends that lead to no destination.
  Schedule decode(const Assignment&) const;

 private:
  void prune();
  void number_orbits(const EncodingOptions&);
  void stays(Chunk, Rank);
  void arrives(Chunk, Rank);
  void moves(Chunk, LinkId);
  void one(Chunk, Rank);
  void wanted();
  void bandwidth(const std::vector<LinkId>&, int chunks_per_round, Counter, bool multicast = false);
  void order();

  // kTrue, kFalse or a variable.
  Lit here(Chunk c, Rank n, int t) const { return here_(c * topology_.ranks + n, t); }
  // kFalse or a variable.
  Lit send(Chunk c, LinkId l, int s) const {
    return send_(c * static_cast<int>(topology_.links.size()) + l, s);
  }
  void add(std::initializer_list<Lit>);  // drops kFalse literals and satisfied clauses
  void add(std::vector<Lit>);

  const Topology topology_;
  const Collective collective_;
  const Budget horizon_;
  Formula formula_ = {};
  RoundBudget budget_;
  std::vector<std::vector<LinkId>> links_into_ = {};
  std::vector<int> earliest_ =
      {};  // by (chunk, rank): first t at which the chunk can be there; horizon+1 if never
  std::vector<int> remaining_ = {};   // by (chunk, rank): hops from there to the nearest destination
  std::vector<int> link_orbit_ = {};  // smallest members
  std::vector<int> limit_orbit_ = {};
  OrbitLits here_ = {};  // by (chunk, rank), t
  OrbitLits send_ = {};  // by (chunk, link), s
};

}  // namespace chorale
