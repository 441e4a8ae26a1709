// Two formulations of the literature: SCCL's integers as SMT-LIB text for Z3 (Cai et al. 2021), and a formula
// of its own for each split of the rounds over the steps (2024). They share the types for machines and
// limits, and the solvers, with the engine; nothing else, so that a comparison measures what the engine adds.
//
// Neither expresses a sum. They can answer a question that has a dual copy (construct/solved_question.h); a
// sum with several destinations has none.
#include "pareto/baselines.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "encoder/partition_encoding.h"
#include "encoder/sccl_smt_encoding.h"
#include "ir/error.h"
#include "solvers/smt_solver.h"

namespace chorale {
namespace {

BaselineAnswer ask_smt(const Instance& instance, const Deadline& deadline, std::int64_t conflicts) {
  const std::optional<SolveLimits> limits = deadline.limits(conflicts);
  if (!limits) return {};
  const SmtEncoding encoding(instance);
  const SmtAnswer smt = solve_smtlib(encoding.text(), encoding.wanted(), *limits);
  BaselineAnswer answer{.verdict = smt.verdict, .conflicts = smt.conflicts};
  if (smt.verdict == Verdict::Sat) answer.schedule = encoding.decode(smt.values);
  return answer;
}

// Every split of the rounds over the steps is a formula of its own, (R-1 over S-1) of them for R rounds and S
// steps; Unsat if all are. One that is not decided in its limits does not stop the others, since one of them
// may be Sat; but after it nothing is Unsat.
BaselineAnswer ask_partitions(Instance instance, const Deadline& deadline, const SynthesisOptions& options) {
  instance.budget.steps = std::min(instance.budget.steps, instance.budget.rounds);
  std::vector<int> split(instance.budget.steps, 1);
  split.back() = instance.budget.rounds - instance.budget.steps + 1;
  BaselineAnswer answer{.verdict = Verdict::Unsat};
  do {
    const std::optional<SolveLimits> limits = deadline.limits(options.limits.conflicts);
    if (!limits) return {.conflicts = answer.conflicts};
    const PartitionEncoding encoding(instance, split);
    const std::unique_ptr<SatSolver> solver = make_solver(options.solver, options.seed);
    solver->add(encoding.formula());
    const Verdict verdict = solver->solve({}, *limits);
    answer.conflicts += solver->conflicts();
    if (verdict == Verdict::Unknown) answer.verdict = Verdict::Unknown;
    if (verdict != Verdict::Sat) continue;
    answer.schedule = encoding.decode(solver->model(encoding.formula().variables));
    answer.verdict = Verdict::Sat;
    return answer;
  } while (next_partition(split));
  return answer;
}

}  // namespace

BaselineAnswer ask_baseline(const SynthesisOptions& options, const SolvedQuestion& solved,
                            const Budget& budget, const Deadline& deadline) {
  if (solved.collective.combining)
    throw InputError(
        "--engine",
        "this engine knows " + name_of(solved.collective) + " only as ReduceScatter and Allgather",
        "use --engine sat, or ask for the two parts");
  if (std::ranges::any_of(solved.topology.limits, [](const SharedLimit& l) { return l.abilities.multicast; }))
    throw InputError("--engine", "this engine counts every copy, and the machine's switches make some",
                     "use --engine sat");
  const Instance instance{.topology = solved.topology, .collective = solved.collective, .budget = budget};
  return options.engine == Engine::Smt ? ask_smt(instance, deadline, options.limits.conflicts)
                                       : ask_partitions(instance, deadline, options);
}

}  // namespace chorale
