#include "pareto/synthesize.h"

#include <time.h>

#include <algorithm>
#include <stdexcept>

#include "bounds/lower_bounds.h"
#include "encoder/partition_encoding.h"
#include "encoder/sccl_smt_encoding.h"
#include "ir/error.h"
#include "pareto/instance_solver.h"
#include "semantics/verify.h"
#include "solvers/smt_solver.h"

namespace chorale {
namespace {

double cpu_now() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A claim that shows the budget to be too small, if a bound does.
std::optional<Claim> excluded_by_bound(const Topology& topology, const Collective& collective,
                                       const Budget& budget) {
  const Claim rounds = fewest_rounds_in(topology, collective, budget.steps, budget.rounds + 1);
  if (rounds.rounds > budget.rounds) return rounds;
  return std::nullopt;
}

Point verified_point(const Topology& topology, const Collective& collective, Schedule schedule, bool turn) {
  Point point{.method = turn ? "dual" : "direct", .collective = collective};
  point.schedule = turn ? reversed(schedule, true) : std::move(schedule);
  const std::vector<Fault> wrong = violations(topology, collective, point.schedule);
  if (!wrong.empty()) throw std::logic_error("a baseline's schedule is wrong: " + wrong.front().words);
  point.cost = {.steps = static_cast<int>(point.schedule.steps.size()),
                .rounds = total_rounds(point.schedule),
                .chunks = collective.chunks_per_block};
  return point;
}

Answer ask_smt(const Instance& instance, const SynthesisOptions& options, Schedule& found) {
  const SmtEncoding encoding(instance);
  const SmtAnswer smt = solve_smtlib(encoding.text(), encoding.wanted(), options.limits);
  if (smt.verdict == Verdict::Sat) found = encoding.decode(smt.values);
  return {.verdict = smt.verdict, .conflicts = smt.conflicts};
}

// Every split of the rounds over the steps is a formula of its own; Unsat if all are.
Answer ask_partitions(Instance instance, const SynthesisOptions& options, Schedule& found) {
  const auto started = std::chrono::steady_clock::now();
  instance.budget.steps = std::min(instance.budget.steps, instance.budget.rounds);
  std::vector<int> split(instance.budget.steps, 1);
  split.back() = instance.budget.rounds - instance.budget.steps + 1;
  Answer answer{.verdict = Verdict::Unsat};
  do {
    SolveLimits limits = options.limits;
    if (limits.time.count() >= 0)
      limits.time -=
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);
    if (options.limits.time.count() >= 0 && limits.time.count() <= 0) return {.verdict = Verdict::Unknown};
    const PartitionEncoding encoding(instance, split);
    const std::unique_ptr<SatSolver> solver = make_cadical(options.seed);
    solver->add(encoding.formula());
    const Verdict verdict = solver->solve({}, limits);
    answer.conflicts += solver->conflicts();
    if (verdict == Verdict::Unknown) answer.verdict = Verdict::Unknown;
    if (verdict != Verdict::Sat) continue;
    Assignment model(encoding.formula().variables + 1);
    for (int v = 1; v <= encoding.formula().variables; ++v) model[v] = solver->value(v);
    found = encoding.decode(model);
    answer.verdict = Verdict::Sat;
    return answer;
  } while (next_partition(split));
  return answer;
}

Answer ask_baseline(const Topology& topology, const Collective& collective, const Budget& budget,
                    const SynthesisOptions& options) {
  const bool turn = collective.combining;
  const bool single = std::all_of(collective.chunks.begin(), collective.chunks.end(),
                                  [](const ChunkSpec& spec) { return spec.post.size() == 1; });
  if (turn && !single)
    throw InputError("--engine",
                     "this engine knows " + collective.name + " only as ReduceScatter and Allgather",
                     "use --engine sat, or ask for the two parts");
  const Instance instance{.topology = turn ? reversed(topology) : topology,
                          .collective = turn ? dual(collective) : collective,
                          .budget = budget};
  Schedule found;
  Answer answer = options.engine == Engine::Smt ? ask_smt(instance, options, found)
                                                : ask_partitions(instance, options, found);
  if (answer.verdict == Verdict::Sat)
    answer.point = verified_point(topology, collective, std::move(found), turn);
  return answer;
}

}  // namespace

Answer synthesize(const Topology& topology, const Collective& collective, const Budget& budget,
                  const SynthesisOptions& options) {
  const double started = cpu_now();
  Answer answer = [&]() -> Answer {
    const StepBound steps = fewest_steps(topology, collective);
    if (options.use_bounds && std::min(budget.steps, budget.rounds) < steps.steps)
      return {.verdict = Verdict::Unsat, .claim = steps.claim};
    // What is cheap first; a schedule makes every bound superfluous.
    std::optional<InstanceSolver> solver;
    if (options.engine == Engine::Sat) {
      solver.emplace(topology, collective, options);
      if (Answer found = solver->try_greedily(budget); found.verdict == Verdict::Sat) return found;
    }
    if (options.use_bounds)
      if (std::optional<Claim> excluded = excluded_by_bound(topology, collective, budget))
        return {.verdict = Verdict::Unsat, .claim = std::move(excluded)};
    return solver ? solver->ask(budget) : ask_baseline(topology, collective, budget, options);
  }();
  answer.cpu_seconds = cpu_now() - started;
  if (answer.point) answer.point->seconds = answer.cpu_seconds;
  return answer;
}

}  // namespace chorale
