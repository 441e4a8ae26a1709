// The engines of the literature, for comparison: the same question, without bounds, constructions and
// symmetry of ours.
#pragma once

#include "construct/solved_question.h"
#include "ir/instance.h"
#include "pareto/answer.h"
#include "solvers/deadline.h"

namespace chorale {

struct BaselineAnswer {
  Verdict verdict = Verdict::Unknown;
  Schedule schedule = {};  // Sat: of the solved question
  std::int64_t conflicts = 0;
};
// By the engine, solver, seed and conflicts of the options. Throws InputError if the engine cannot express
// the collective: sums with several destinations. Requires an engine other than Engine::Sat.
BaselineAnswer ask_baseline(const SynthesisOptions&, const SolvedQuestion&, const Budget&, const Deadline&);

}  // namespace chorale
