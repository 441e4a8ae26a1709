// The idea: most questions have a cheap answer, and which cheap method gives it is not known beforehand. So
// all methods are tried round-robin, the cheapest first, each with a small budget; a method without an answer
// is tried again with four times as much. A question that has a schedule does not wait for the proof that it
// has none, nor the reverse, and no method costs more than a few times what the successful one would have
// cost alone.
//
// Invariants: Sat comes with a schedule; Unsat only from a bound that its checker accepted, or from the full
// formula with a proof that was checked. Restricted questions and constructions prove nothing when they find
// nothing.
//
// What lost: filling steps with the best next sends, before and after solving. The engine has such schedules
// already (construct/engine.h): without it the grids have the same 213 and 42 points for the same time
// (benchmarks/synthesis.cpp). Plans of growth stay: the copying collectives of the grid take 54 CPU s with
// them, and Broadcasts on dgx2 alone over 300 without. And the full formula alone, as published, even from a
// solver that remembers what it learnt for other budgets. On dgx1 it does not find the Allgather (3,7,6) in
// 19,000 conflicts; restricted to schedules with all symmetries of the machine, it takes 594.
#include "pareto/instance_solver.h"

#include <time.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "bounds/growth.h"
#include "construct/plan_filling.h"
#include "encoder/published_encodings.h"
#include "ir/agreement.h"
#include "ir/error.h"
#include "ir/schedule.h"
#include "ir/work.h"
#include "semantics/verify.h"
#include "solvers/smt_solver.h"

namespace chorale {
namespace {

// The engines of the literature, for comparison: the same question, without bounds, constructions and
// symmetry of ours.
//
// Two formulations of the literature: SCCL's integers as SMT-LIB text for Z3 (Cai et al. 2021), and a formula
// of its own for each split of the rounds over the steps (2024). They share the types for machines and
// limits, and the solvers, with the engine; nothing else, so that a comparison measures what the engine adds.
//
// Neither expresses a sum. They can answer a question that has a dual copy
// (construct/engine/solved_question.h); a sum with several destinations has none.

struct BaselineAnswer {
  Verdict verdict = Verdict::Unknown;
  Schedule schedule = {};  // Sat: of the solved question
  std::int64_t conflicts = 0;
};

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
    const std::unique_ptr<SatSolver> solver =
        make_solver(options.solver, options.seed, nullptr, options.ipasir);
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

// By the engine, solver, seed and conflicts of the options. Throws InputError if the engine cannot express
// the collective: sums with several destinations. Requires an engine other than Engine::Sat.
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

// Conflicts of the first iteration and their growth. From 500 to 8,000 conflicts and from 2 to 8 times as
// many, this takes 0.6 to 0.7 s of CPU time:
//   synthesis --grid --max-chunks 4 --topology dgx1 amd-z52 line:4 hypercube:3
//     --collective allreduce broadcast alltoall
constexpr std::int64_t kFirstConflicts = 2000;
constexpr int kMore = 4;
// If all formulas are solved from the first iteration on, whatever their size, mesh:4x4 Alltoall of 3 chunks
// is not found in the minute that it has; so, all three chunk counts take 6 s of CPU time:
//   synthesis --grid16 --topology mesh:4x4 --collective alltoall
constexpr double kFirstSize = 2e4;
// Without conflicts a solver knows little more than unit propagation, and making formulas of up to
// kMostClauses takes minutes: frontier dgx1 allreduce --min-chunks 8 --max-chunks 16 --conflicts 0
constexpr double kClausesWithoutConflicts = 2e4;

// Beyond this size sums stay as they are found.
constexpr double kLarge = 1e5;
// All 20 points of dgx2 Broadcast that a plan of growth leads to are found by the first plan, the last of
// them at the 20th filling (synthesis --grid --topology dgx2 --collective broadcast).
constexpr int kPlans = 8;
constexpr unsigned kFillings = 50;
// Of the search for a schedule with plain sums.
constexpr std::int64_t kConflictsForSums = 2000;
constexpr long long kWorkOfLiteral = 1;  // encoded and read by a solver

}  // namespace

struct InstanceSolver::Formulation {
  Restriction restriction = {};
  double group = 1;  // by how much the symmetry makes the formula smaller
  Budget horizon = {.steps = 0, .rounds = 0};
  std::optional<InstanceEncoding> encoding = {};
  std::unique_ptr<SatSolver> solver = {};
  bool given_up = false;  // for this question
};

// The budget of one iteration. Conflicts in a large formula take longer, so it has to wait for a later
// iteration.
struct InstanceSolver::Effort {
  int turn = 0;
  std::int64_t conflicts = 0;  // for each question to a solver
  double size = 0;             // the largest formula that is asked
};

struct InstanceSolver::Attempt {
  Answer (InstanceSolver::*make)(const Budget&, const Effort&);
  enum class Turn { First, Later, Every } turn;
  bool due(const Effort& effort) const {
    return turn == Turn::Every || (turn == Turn::First) == (effort.turn == 0);
  }
};

InstanceSolver::InstanceSolver(const Topology& topology, const Collective& collective,
                               const SynthesisOptions& options)
    : topology_(topology),
      collective_(collective),
      solved_(topology, collective),
      options_(options),
      bounds_(topology_, collective_, options.limits.stop),
      solved_bounds_(solved_.topology, solved_.collective, options.limits.stop),
      full_(std::make_unique<Formulation>()) {}

InstanceSolver::~InstanceSolver() = default;

// They are found when they are first needed: that takes longer than most answers.
std::vector<std::unique_ptr<InstanceSolver::Formulation>>& InstanceSolver::restricted() {
  if (!options_.use_symmetry || std::exchange(is_restriction_, true)) return restricted_;
  for (Restriction& restriction : restrictions(solved_.topology, solved_.collective)) {
    Formulation& one = *restricted_.emplace_back(std::make_unique<Formulation>());
    for (const Automorphism& g : restriction.symmetry) one.group *= order(g);
    one.group = std::min(one.group, static_cast<double>(solved_.topology.ranks));  // mostly so
    if (restriction.together > 1 && !packets_) packets_ = first_of(solved_.collective, restriction.together);
    one.restriction = std::move(restriction);
  }
  return restricted_;
}

Answer InstanceSolver::ask(const Budget& budget, const Deadline& deadline) {
  return ask(budget, deadline, options_.limits.conflicts);
}

Answer InstanceSolver::ask(const Budget& budget, const Deadline& deadline, std::int64_t conflicts) {
  using enum Attempt::Turn;
  static constexpr Attempt kOurs[] = {
      {&InstanceSolver::too_few_hops, First},   {&InstanceSolver::bound, First},
      {&InstanceSolver::plan, First},  // where spreading is what takes long
      {&InstanceSolver::ask_restricted, Every}, {&InstanceSolver::ask_full, First},
      {&InstanceSolver::refute, Later},
  };
  static constexpr Attempt kTheirs[] = {{&InstanceSolver::too_few_hops, First},
                                        {&InstanceSolver::bound, First},
                                        {&InstanceSolver::published, First}};
  const bool ours = options_.engine == Engine::Sat;
  const std::span<const Attempt> attempts =
      ours ? std::span<const Attempt>(kOurs) : std::span<const Attempt>(kTheirs);
  deadline_ = deadline;
  conflicts_ = 0;
  for (auto& one : restricted_) one->given_up = false;
  // Iterates until something answers. The last iteration has all conflicts that are allowed, and formulas of
  // any size; without a limit there is always another, and only the deadline ends it.
  const std::int64_t most = conflicts < 0 ? INT64_MAX / kMore : conflicts;
  Effort effort{.conflicts = std::min(kFirstConflicts, most), .size = kFirstSize};
  for (;; ++effort.turn, effort.conflicts = std::min(effort.conflicts * kMore, most), effort.size *= kMore) {
    if (effort.conflicts == most) effort.size = std::numeric_limits<double>::infinity();  // the last one
    limited_ = false;
    for (const Attempt& attempt : attempts) {
      if (!attempt.due(effort)) continue;
      Answer answer = (this->*attempt.make)(budget, effort);
      answer.conflicts = conflicts_;
      if (answer.verdict != Verdict::Unknown) return answer;
    }
    // Where no formula was small enough to be solved, no later iteration will solve one.
    if (!limited_ || !ours || effort.conflicts == most || deadline_.over())
      return {.too_large = !limited_, .conflicts = conflicts_};
  }
}

Answer InstanceSolver::too_few_hops(const Budget& budget, const Effort&) {
  if (!options_.use_bounds) return {};
  const StepBound& steps = bounds_.fewest_steps();
  if (std::min(budget.steps, budget.rounds) >= steps.steps) return {};
  return {.verdict = Verdict::Unsat, .claim = steps.claim};
}

Answer InstanceSolver::bound(const Budget& budget, const Effort&) {
  if (!options_.use_bounds) return {};
  Claim claim = bounds_.fewest_rounds_in(budget.steps, budget.rounds + 1);
  if (claim.rounds <= budget.rounds) return {};
  return {.verdict = Verdict::Unsat, .claim = std::move(claim)};
}

const Collective& InstanceSolver::collective_of(const Formulation& one) const {
  return one.restriction.together > 1 ? *packets_ : solved_.collective;
}

// Links times chunks times steps, and of sums times contributions: about the variables of a formula.
double InstanceSolver::size(const Formulation& one, const Budget& budget) const {
  const Collective& collective = collective_of(one);
  return static_cast<double>(solved_.topology.links.size()) * static_cast<double>(collective.chunks.size()) *
         budget.steps * (collective.combining ? solved_.topology.ranks : 1) / one.group;
}

double InstanceSolver::clauses_of(const Formulation& one, const Budget& budget) const {
  return clauses(solved_.topology, collective_of(one), budget) / one.group;
}

bool InstanceSolver::too_large(const Formulation& one, const Budget& budget) const {
  return clauses_of(one, budget) > kMostClauses;
}

// Where every rank can send to every other.
Answer InstanceSolver::plan(const Budget& budget, const Effort&) {
  if (solved_.collective.combining || solved_.topology.limits.empty()) return {};
  std::set<std::pair<Node, Node>> linked;
  for (const Link& link : solved_.topology.links) linked.insert({link.src, link.dst});
  const std::size_t ranks = static_cast<std::size_t>(solved_.topology.ranks);
  if (linked.size() < ranks * (ranks - 1)) return {};
  for (const GrowthPlan& plan : growth_plans(solved_.topology, solved_.collective, budget, kPlans))
    for (unsigned seed = 0; seed < kFillings; ++seed)
      if (auto schedule = fill_plan(solved_.topology, solved_.collective, plan, seed))
        return found(std::move(schedule));
  return {};
}

Answer InstanceSolver::ask_restricted(const Budget& budget, const Effort& effort) {
  for (auto& one : restricted()) {
    if (one->given_up || deadline_.over()) continue;
    const int together = one->restriction.together;
    const Budget each{.steps = budget.steps, .rounds = budget.rounds / together};
    if (together > 1 && !may_be_repeated(each, budget, together)) {
      one->given_up = true;
      continue;
    }
    Schedule schedule;
    if (ask(*one, each, effort, schedule) != Verdict::Sat) continue;
    return found(repeated_for_all(solved_.topology, solved_.collective, together, std::move(schedule)));
  }
  return {};
}

// A repeated schedule needs at least one round per step, and all repetitions together no fewer rounds than
// the bound (or exactly those of `all`).
bool InstanceSolver::may_be_repeated(const Budget& each, const Budget& all, int together) {
  if (each.rounds < solved_bounds_.fewest_steps().steps) return false;
  return each.rounds * together == all.rounds ||
         each.rounds * together >= solved_bounds_.fewest_rounds().rounds;
}

Answer InstanceSolver::ask_full(const Budget& budget, const Effort& effort) {
  Schedule schedule;
  switch (ask(*full_, budget, effort, schedule)) {
    case Verdict::Sat:
      return found(std::move(schedule));
    case Verdict::Unsat:
      return refuted(budget, -1);  // was soon found, so its proof is too
    case Verdict::Unknown:
      break;
  }
  return {};
}

Answer InstanceSolver::refute(const Budget& budget, const Effort& effort) {
  if (too_large(*full_, budget)) return {};
  limited_ = true;
  if (size(*full_, budget) > effort.size) return {};
  return refuted(budget, effort.conflicts);
}

Answer InstanceSolver::published(const Budget& budget, const Effort&) {
  const BaselineAnswer answer = ask_baseline(options_, solved_, budget, deadline_);
  conflicts_ += answer.conflicts;
  limited_ = answer.verdict == Verdict::Unknown;
  if (answer.verdict == Verdict::Sat) return found(answer.schedule);
  return {.verdict = answer.verdict};
}

Verdict InstanceSolver::ask(Formulation& one, const Budget& budget, const Effort& effort,
                            Schedule& schedule) {
  if (too_large(one, budget)) return Verdict::Unknown;
  limited_ = true;
  if (size(one, budget) > effort.size) return Verdict::Unknown;
  if (effort.conflicts == 0 && clauses_of(one, budget) > kClausesWithoutConflicts) return Verdict::Unknown;
  // A formula made for a horizon answers for every budget inside it, under assumptions, and its solver keeps
  // what it has learnt. Only a budget beyond it makes both again.
  if (budget.steps > one.horizon.steps || budget.rounds > one.horizon.rounds) {
    one.horizon = budget;
    one.encoding.emplace(
        solved_.topology, collective_of(one), budget,
        EncodingOptions{.symmetry = one.restriction.symmetry, .nearer = one.restriction.nearer});
    one.solver = make_solver(options_.solver, options_.seed, nullptr, options_.ipasir);
    one.solver->add(one.encoding->formula());
    work_done() += kWorkOfLiteral * std::ssize(one.encoding->formula().literals);
  }
  const std::optional<SolveLimits> limits = deadline_.limits(effort.conflicts);
  if (!limits) return Verdict::Unknown;
  const std::int64_t before = one.solver->conflicts();
  const Verdict verdict = one.solver->solve(one.encoding->assume(budget), *limits);
  conflicts_ += one.solver->conflicts() - before;
  one.given_up = verdict == Verdict::Unsat;
  if (verdict == Verdict::Sat)
    schedule = summed_plainly(one, budget,
                              one.encoding->decode(one.solver->model(one.encoding->formula().variables)));
  return verdict;
}

// A schedule within the budget whose sums need no word about the order in which a rank adds what arrives in
// one step, or are at least made of the same values at all ranks, where a short search finds one; else this
// one.
Schedule InstanceSolver::summed_plainly(const Formulation& one, const Budget& budget, Schedule schedule) {
  const Collective& collective = collective_of(one);
  if (!collective.combining || collective.order.kind != SumOrder::Kind::Agreed || size(one, budget) > kLarge)
    return schedule;
  const bool alike = sums_are_alike(solved_.topology, collective, schedule);
  if (alike && std::ranges::all_of(stated_steps(solved_.topology, collective, schedule),
                                   [](const StatedStep& step) { return step.sums.empty(); }))
    return schedule;
  for (const SumsMade made : {SumsMade::InPairs, SumsMade::Alike}) {
    if (alike && made == SumsMade::Alike) break;
    const std::optional<SolveLimits> limits = deadline_.limits(kConflictsForSums);
    if (!limits) break;
    const InstanceEncoding encoding(solved_.topology, collective, budget,
                                    {.symmetry = one.restriction.symmetry, .sums = made});
    const std::unique_ptr<SatSolver> solver =
        make_solver(options_.solver, options_.seed, nullptr, options_.ipasir);
    solver->add(encoding.formula());
    const Verdict verdict = solver->solve(encoding.assume(budget), *limits);
    conflicts_ += solver->conflicts();
    if (verdict == Verdict::Sat) return encoding.decode(solver->model(encoding.formula().variables));
  }
  return schedule;
}

// The full formula afresh, with a proof: assumptions, and what was learnt under other budgets, have no place
// in one.
Answer InstanceSolver::refuted(const Budget& budget, std::int64_t conflicts) {
  const std::optional<SolveLimits> limits = deadline_.limits(conflicts);
  if (!limits) return {};
  const InstanceEncoding encoding(solved_.topology, solved_.collective, budget);
  const Formula formula = with_units(encoding, budget);
  const Refutation refutation = solve_with_proof(formula, *limits, options_.seed, false, options_.solver);
  conflicts_ += refutation.conflicts;
  if (refutation.verdict == Verdict::Sat) return found(encoding.decode(refutation.model));
  if (refutation.verdict == Verdict::Unknown) return {};
  return {.verdict = Verdict::Unsat,
          .claim = kept({.steps = budget.steps, .rounds = budget.rounds + 1}, formula, refutation)};
}

// The claim with its certificate; the formula and its proof on disk, where that is wanted.
Claim InstanceSolver::kept(Claim claim, const Formula& formula, const Refutation& refutation) const {
  claim.collective = collective_.kind;
  claim.chunks = collective_.chunks_per_block;
  claim.certificate.kind = Certificate::Kind::Refutation;
  claim.certificate.formula_sha256 = refutation.formula_sha256;
  if (!options_.proof_dir.empty()) keep_proof(options_.proof_dir, formula, refutation);
  return claim;
}

// Chunk after chunk, and each kind of chunk once: chunks with the same contributors and destinations have the
// same schedules, and where rounds do not matter they may all be in one. One kind that has none refutes the
// whole.
Answer InstanceSolver::ask_any_rounds(int steps, const Deadline& deadline, std::int64_t conflicts) {
  deadline_ = deadline;
  conflicts_ = 0;
  if (!solved_.collective.combining) return {};
  const Budget budget = ample(topology_, steps);
  if (clauses(topology_, only(collective_, 0), budget) > kMostClauses) return {.too_large = true};
  Schedule schedule{.steps = std::vector<Step>(steps)};
  std::map<std::pair<RankSet, RankSet>, Schedule> known;
  for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c) {
    const ChunkSpec& spec = collective_.chunks[c];
    const auto [at, fresh] = known.try_emplace({spec.pre, spec.post});
    if (fresh) {
      const std::optional<SolveLimits> limits = deadline_.limits(conflicts);
      if (!limits) return {.conflicts = conflicts_};
      const InstanceEncoding encoding(topology_, only(collective_, c), budget);
      const Formula formula = with_units(encoding, budget);
      const Refutation refutation = solve_with_proof(formula, *limits, options_.seed, false, options_.solver);
      conflicts_ += refutation.conflicts;
      if (refutation.verdict == Verdict::Unknown) return {.conflicts = conflicts_};
      if (refutation.verdict == Verdict::Unsat)
        return {.verdict = Verdict::Unsat,
                .claim = kept({.steps = steps, .rounds = kNoSchedule, .certificate = {.chunk = c}}, formula,
                              refutation),
                .conflicts = conflicts_};
      at->second = encoding.decode(refutation.model);
    }
    for (std::size_t s = 0; s < at->second.steps.size(); ++s)
      for (Send send : at->second.steps[s].sends) {
        send.chunk = c;
        schedule.steps[s].sends.push_back(send);
      }
  }
  Answer answer = found(tidy(topology_, collective_, std::move(schedule)));
  answer.conflicts = conflicts_;
  return answer;
}

Answer InstanceSolver::found(std::optional<Schedule> of_solved) const {
  if (!of_solved) return {};
  return {.verdict = Verdict::Sat,
          .point = solved_.point(std::move(*of_solved), collective_, name_of(options_.engine))};
}

// The entry point: one question, one answer, and every schedule that leaves is verified. Time is that of this
// thread, so that other load of the computer is not counted.

namespace {

double cpu_now() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

void require_solver(const SynthesisOptions& options) {
  if (options.solver != Solver::Cadical) make_solver(options.solver, options.seed, nullptr, options.ipasir);
}

Answer synthesize(const Topology& topology, const Collective& collective, const Budget& budget,
                  const SynthesisOptions& options) {
  const double started = cpu_now();
  Answer answer = InstanceSolver(topology, collective, options).ask(budget, Deadline(options.limits));
  if (answer.point)
    if (const auto wrong = violations(topology, collective, answer.point->schedule); !wrong.empty())
      throw std::logic_error("a schedule of our own is wrong: " + wrong.front().words);
  answer.cpu_seconds = cpu_now() - started;
  if (answer.point) answer.point->seconds = answer.cpu_seconds;
  return answer;
}

}  // namespace chorale
