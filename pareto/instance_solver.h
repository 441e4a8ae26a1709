// Answers budget after budget for one collective on one machine by our own encodings; keeps what it learnt
// between them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/formula.h"
#include "ir/frontier.h"
#include "ir/instance.h"
#include "pareto/synthesize.h"
#include "solvers/proof.h"

namespace chorale {

// The formula that a refutation of this claim refutes: full, unsymmetric, its budget (one round less than
// claimed) as unit clauses. Reduce and ReduceScatter are asked as their duals on the reversed topology. A
// claim that there is no schedule at all is about one chunk of a sum with several destinations, with as many
// rounds as its steps can use. Requires a finite number of steps, a number of rounds over 1, and that chunk.
Formula refutable_formula(const Topology&, const Collective&, const Claim&);
// No formula of that size is built; asked before, of claims that somebody else makes.
bool too_large_to_refute(const Topology&, const Collective&, const Claim&);

// A question is answered by symmetric schedules and by the full formula in turn, with more and more
// conflicts, so that neither a satisfiable instance waits for a refutation nor the other way round. The full
// formula is first asked from one incremental solver with the budget as assumptions; what it refutes, and
// what it does not answer soon, is solved afresh with a proof.
class InstanceSolver {
 public:
  InstanceSolver(const Topology&, const Collective&, const SynthesisOptions&);
  ~InstanceSolver();

  // Sat: with a verified point. Unsat: with a claim whose proof was checked.
  Answer ask(const Budget&);
  // Is there a schedule of so many steps at all? For a sum with several destinations, whose fewest steps hops do
  // not tell: a rank adds up what it gets, and cannot take apart again what was added too soon. Without a limit
  // on rounds the chunks do not meet, so each kind of chunk is a small question of its own. Others always have
  // one from as many steps on as their farthest chunk has hops: Unknown.
  Answer ask_any_rounds(int steps);
  // Sat or Unknown, in less time than the simplest bound takes: the first thing to try.
  Answer try_greedily(const Budget&);
  void set_limits(const SolveLimits& limits) { options_.limits = limits; }

 private:
  struct Part;  // an encoding and its solver
  void find_symmetry();
  Answer attempt(const Budget&, std::int64_t effort, bool first);
  double size(const Budget&) const;
  std::optional<Schedule> greedy(const Budget&, std::int64_t effort, bool first) const;
  std::optional<Schedule> planned(const Budget&) const;
  bool too_large(const Part&, const Budget&) const;
  Verdict ask_part(Part&, const Budget&, std::int64_t conflicts, Schedule& found);
  Answer refute(const Budget&, std::int64_t conflicts);
  Claim kept(Claim, const Formula&, const Refutation&) const;
  Point verified(Schedule) const;
  std::optional<SolveLimits> time_left() const;  // none: stop

  const Topology topology_;      // asked for
  const Collective collective_;  // asked for
  const bool dual_;
  const Topology solved_topology_;      // reversed if dual_
  const Collective solved_collective_;  // the dual if dual_
  SynthesisOptions options_;
  std::optional<Budget> greedy_failed_ = {};
  bool sought_symmetry_ = false;
  std::vector<std::unique_ptr<Part>> symmetric_;
  std::unique_ptr<Part> full_;
  std::chrono::steady_clock::time_point started_ = {};
  std::int64_t conflicts_ = 0;
};

}  // namespace chorale
