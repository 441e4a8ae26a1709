// Which counter should encode "at most bandwidth * rounds"? The same questions with each, formula built and
// solved afresh, no bounds and no symmetry: what is measured is the encoding. docs/encodings.md cites the
// result.
//
// Both orders alternate, so that a noisy machine harms both alike. Last measured, the sequential counter took
// 1.16 times as long as the totalizer in the geometric mean of 16 questions, from 0.08 to 3.57
// (benchmarks/results/counters.log).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"
#include "encoder/step_round_encoding.h"
#include "ir/error.h"
#include "solvers/sat_solver.h"

namespace chorale {
namespace {

struct Question {
  const char* topology;
  const char* collective;
  int chunks;
  Budget budget;
};

// Questions at the edge of what is possible: the best budgets, and just below them.
const std::vector<Question> kQuestions = {
    {"dgx1", "allgather", 6, {.steps = 3, .rounds = 7}},
    {"dgx1", "allgather", 6, {.steps = 3, .rounds = 6}},
    {"dgx1", "alltoall", 2, {.steps = 3, .rounds = 6}},
    {"dgx1", "alltoall", 3, {.steps = 2, .rounds = 9}},
    {"amd-z52", "alltoall", 1, {.steps = 4, .rounds = 8}},
    {"ring:8", "allgather", 2, {.steps = 5, .rounds = 7}},
    {"ring:8", "broadcast", 5, {.steps = 6, .rounds = 6}},
    {"hypercube:3", "allgather", 3, {.steps = 3, .rounds = 7}},
    {"hypercube:3", "allgather", 4, {.steps = 4, .rounds = 10}},
    {"hypercube:3", "alltoall", 2, {.steps = 3, .rounds = 8}},
    {"hypercube:3", "broadcast", 5, {.steps = 4, .rounds = 5}},
    {"full:8", "alltoall", 3, {.steps = 2, .rounds = 3}},
    {"torus:4x4", "allgather", 2, {.steps = 5, .rounds = 8}},
    {"dgx2", "broadcast", 3, {.steps = 6, .rounds = 6}},
    {"dgx2", "allgather", 1, {.steps = 4, .rounds = 15}},
    {"hub:8", "alltoall", 1, {.steps = 3, .rounds = 7}},
};

struct Measured {
  Verdict verdict = Verdict::Unknown;
  double seconds = 0;
  std::int64_t clauses = 0;
};

// From the machine to the answer, the formula's making included: a smaller formula is part of what a counter
// is chosen for. Where the conflicts run out, the time up to there counts.
Measured measure(const Question& q, Counter counter, std::int64_t conflicts, int seed) {
  const double from = cpu_seconds();
  const Topology topology = machine(q.topology);
  const StepRoundEncoding encoding(topology, make_collective(q.collective, topology.ranks, q.chunks),
                                   q.budget, {.counter = counter});
  const auto solver = make_solver(Solver::Cadical, seed);
  solver->add(encoding.formula());
  Measured result;
  result.verdict = solver->solve(encoding.assume(q.budget), {.conflicts = conflicts});
  result.seconds = cpu_seconds() - from;
  result.clauses = std::count(encoding.formula().literals.begin(), encoding.formula().literals.end(), 0);
  return result;
}

const char* word(Verdict v) {
  return v == Verdict::Sat ? "sat" : v == Verdict::Unsat ? "unsat" : "unknown";
}

int run(int argc, char** argv) {
  std::int64_t conflicts = 200'000;
  int repetitions = 3;
  CommandLine line{"Totalizer against sequential counter in the encoding of bandwidth."};
  line.number("--conflicts", conflicts, "give up a question after so many");
  line.positive("--repetitions", repetitions, "seeds a question; the median counts");
  if (const std::optional<int> code = line.read(argc, argv)) return *code;
  fmt::print("{}", machine_line());
  fmt::print("{:<12}{:<11}{:>2} {:>7} {:>8} | {:>9} {:>9} | {:>9} {:>9} | {:>6}\n", "topology", "collective",
             "C", "(S,R)", "answer", "totalizer", "clauses", "sequent.", "clauses", "ratio");
  std::vector<double> ratios;
  for (const Question& q : kQuestions) {
    std::vector<double> seconds[2];
    Measured last[2];
    for (int i = 0; i < repetitions; ++i)
      for (int k = 0; k < 2; ++k) {
        const int which = (i + k) % 2;
        last[which] = measure(q, which == 0 ? Counter::Totalizer : Counter::Sequential, conflicts, i);
        seconds[which].push_back(last[which].seconds);
      }
    // Medians of seeds, then one ratio a question: a slow question counts no more than a quick one.
    const double ratio = median(seconds[1]) / median(seconds[0]);
    ratios.push_back(ratio);
    const bool decided = last[0].verdict != Verdict::Unknown;
    fmt::print("{:<12}{:<11}{:>2} {:>7} {:>8} | {:>9.3f} {:>9} | {:>9.3f} {:>9} | {:>6.2f}\n", q.topology,
               q.collective, q.chunks, fmt::format("({},{})", q.budget.steps, q.budget.rounds),
               word(decided ? last[0].verdict : last[1].verdict), median(seconds[0]), last[0].clauses,
               median(seconds[1]), last[1].clauses, ratio);
    std::fflush(stdout);
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print(
      "sequential / totalizer, CPU seconds, {} questions, median of {} seeds each, at most {} conflicts: "
      "geometric mean {:.2f}, median {:.2f}, from {:.2f} to {:.2f}\n",
      ratios.size(), repetitions, conflicts, geometric_mean(ratios), median(ratios), ratios.front(),
      ratios.back());
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("counters", chorale::run, argc, argv);
}
