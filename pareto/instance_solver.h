// Answers budget after budget for one collective on one machine, by our own encodings and constructions;
// keeps what it learnt between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bounds/lower_bounds.h"
#include "construct/engine/solved_question.h"
#include "ir/frontier.h"
#include "ir/instance.h"
#include "ir/search_options.h"
#include "pareto/formulas.h"
#include "solvers/deadline.h"
#include "solvers/proof.h"

namespace chorale {

// What is known of one instance after it was asked.

struct Answer {
  Verdict verdict = Verdict::Unknown;
  std::optional<Point> point = {};  // Sat: verified
  std::optional<Claim> claim =
      {};                  // Unsat: with a certificate that was checked (engine Sat), or none (other engines)
  bool too_large = false;  // Unknown since no formula of that size is built, whatever the limits
  std::int64_t conflicts = 0;
  double cpu_seconds = 0;
};

// Points leave here as they were found; synthesize() verifies them.
class InstanceSolver {
 public:
  InstanceSolver(const Topology&, const Collective&, const SynthesisOptions&);
  ~InstanceSolver();

  // Sat: with a point. Unsat: with a claim whose certificate was checked, or, from another engine than ours,
  // without. Within the options' conflicts, or these.
  Answer ask(const Budget&, const Deadline&);
  Answer ask(const Budget&, const Deadline&, std::int64_t conflicts);
  // Is there a schedule of `steps` steps at all? For a sum with several destinations, whose fewest steps hops
  // do not determine: a rank adds up what it gets, and cannot separate what was added too soon. Without a
  // limit on rounds the chunks are independent, so each kind of chunk is a small question of its own. Other
  // collectives always have a schedule if `steps` is at least the hops of their farthest chunk: Unknown.
  Answer ask_any_rounds(int steps, const Deadline&, std::int64_t conflicts);

 private:
  struct Formulation;  // an encoding, of the question or a restriction of it, and its solver
  struct Effort;
  struct Attempt;

  // Returns the attempts, each with what it gave; Unknown: nothing.
  Answer too_few_hops(const Budget&, const Effort&);
  Answer bound(const Budget&, const Effort&);
  Answer plan(const Budget&, const Effort&);
  Answer ask_restricted(const Budget&, const Effort&);
  Answer ask_full(const Budget&, const Effort&);
  Answer refute(const Budget&, const Effort&);
  Answer published(const Budget&, const Effort&);

  std::vector<std::unique_ptr<Formulation>>& restricted();
  const Collective& collective_of(const Formulation&) const;
  double size(const Formulation&, const Budget&) const;
  bool may_be_repeated(const Budget& each, const Budget& all, int together);
  double clauses_of(const Formulation&, const Budget&) const;
  bool too_large(const Formulation&, const Budget&) const;
  Verdict ask(Formulation&, const Budget&, const Effort&, Schedule& found);
  Schedule summed_plainly(const Formulation&, const Budget&, Schedule);
  Answer refuted(const Budget&, std::int64_t conflicts);
  Claim kept(Claim, const Formula&, const Refutation&) const;
  Answer found(std::optional<Schedule> of_solved) const;  // Unknown where there is none

  const Topology topology_;      // asked for
  const Collective collective_;  // asked for
  const SolvedQuestion solved_;
  const SynthesisOptions options_;
  LowerBounds bounds_;  // of what is asked for
  LowerBounds solved_bounds_;
  std::vector<std::unique_ptr<Formulation>> restricted_;
  bool is_restriction_ = false;  // restricted_ is known
  // the collective of restricted questions in which chunks go together
  std::optional<Collective> packets_ = {};
  std::unique_ptr<Formulation> full_;

  // Of a question.
  Deadline deadline_ = {};
  std::int64_t conflicts_ = 0;
  bool limited_ = false;  // in this iteration a larger budget might have given more
};

// One instance answered: bounds first, then symmetric schedules, then the full formula. What leaves here is
// verified.

// `collective` with its chunks, `budget` as limits from above.
Answer synthesize(const Topology&, const Collective&, const Budget&, const SynthesisOptions& = {});

// Throws InputError where the solver that is asked for is not there, also for questions that bounds answer.
void require_solver(const SynthesisOptions&);

}  // namespace chorale
