// A question that is hard is cut into cubes (ir/cube.h), which can be asked side by side, and elsewhere. Cube
// and conquer (Heule, Kullmann, Wieringa and Biere 2011), with what a schedule does as decisions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/search_options.h"
#include "pareto/answer.h"
#include "solvers/deadline.h"

namespace chorale {

// About so many cubes, which are all schedules of the budget: is_partition() of them. Fewer where less can be
// decided, or the deadline is over. The same question is cut alike everywhere.
std::vector<Cube> cut(const Topology&, const Collective&, const Budget&, int cubes, const Deadline&);

// One of them, within the conflicts of the limits. Sat: with a schedule that the referee has seen; Unsat:
// with a proof that was checked, and kept where the options say.
CubeAnswer solve_cube(const Topology&, const Collective&, const Budget&, const Cube&, const SynthesisOptions&,
                      const Deadline&);

// All of them, in order, on as many threads as SynthesisOptions::cube_jobs. Those after one that has a
// schedule may stay Unknown.
void solve_cubes(const Topology&, const Collective&, CutQuestion&, const SynthesisOptions&, const Deadline&);

// What the answers say of the question. Sat: one of them is, and the first such is taken, whoever was the
// fastest. Unsat: all are, and the cubes are a partition; the claim has the cubes. Unknown: all else. Throws
// InputError for a schedule that does not do what was asked: answers may be from elsewhere.
Answer put_together(const Topology&, const Collective&, const CutQuestion&);

// The options' answers to this question, if they have them.
const CutQuestion* answered_elsewhere(const SynthesisOptions&, const Collective&, const Budget&);

}  // namespace chorale
