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

namespace chorale {

// The formula that a refutation of this budget refutes: full, unsymmetric, its budget as unit clauses. Reduce
// and ReduceScatter are asked as their duals on the reversed topology.
Formula refutable_formula(const Topology&, const Collective&, const Budget&);

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
