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

// About `cubes` cubes, which cover all schedules of the budget: is_partition() of them. Fewer if less can be
// decided, or the deadline has passed. The same question is cut alike everywhere.
std::vector<Cube> cut(const Topology&, const Collective&, const Budget&, int cubes, const Deadline&);

// Solves one cube within the conflicts of the limits. Sat: with a schedule that was verified; Unsat: with a
// proof that was checked, and kept where the options request it.
CubeAnswer solve_cube(const Topology&, const Collective&, const Budget&, const Cube&, const SynthesisOptions&,
                      const Deadline&);

// All of them, in order, on as many threads as SynthesisOptions::cube_jobs. Those after one that has a
// schedule may stay Unknown.
void solve_cubes(const Topology&, const Collective&, CutQuestion&, const SynthesisOptions&, const Deadline&);

// The answer to the question, from those to its cubes. Sat: one of them is, and the first such is taken,
// whichever was the fastest. Unsat: all are, and the cubes are a partition; the claim has the cubes. Unknown:
// all else. Throws InputError for a schedule that does not implement the collective: answers may be from
// elsewhere.
Answer put_together(const Topology&, const Collective&, const CutQuestion&);

// The options' answers to this question, if they have them.
const CutQuestion* answered_elsewhere(const SynthesisOptions&, const Collective&, const Budget&);

}  // namespace chorale
