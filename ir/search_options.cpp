// Rows of the options of a search. Names, ranges and texts are those of the command line, Python, C, and
// libraries' specifications; `asked` marks those that are part of the question under which a library stores
// an answer.
#include "ir/search_options.h"

#include <algorithm>
#include <climits>
#include <iterator>

namespace chorale {
std::span<const Named<Engine>> engines() {
  static constexpr Named<Engine> kEngines[] = {
      {Engine::Sat, "sat"}, {Engine::Smt, "smt"}, {Engine::SatPartition, "sat-partition"}};
  return kEngines;
}

// "unknown" is an answer of its own, and never read as "unsat".
std::span<const Named<Verdict>> verdicts() {
  static constexpr Named<Verdict> kVerdicts[] = {
      {Verdict::Sat, "sat"}, {Verdict::Unsat, "unsat"}, {Verdict::Unknown, "unknown"}};
  return kVerdicts;
}

std::string name_of(Engine engine) {
  return name_in(engines(), engine);
}

Space searched_space(const FrontierOptions& options) {
  return {.min_chunks = options.min_chunks,
          .max_chunks = options.max_chunks,
          .max_steps = options.max_steps,
          .extra_rounds = options.extra_rounds};
}

// Of every search. A row is words and the path of the member that the option sets. `unlimited` is the value
// that stands for "not given", where that is no value of the range.
std::span<const OptionRow<FrontierOptions>> search_rows() {
  using O = FrontierOptions;
  using S = SynthesisOptions;
  constexpr auto synthesis = &O::synthesis;
  static constexpr OptionRow<O> kRows[] = {
      {{"use_bounds", "--no-bounds", "",
        "Let the solver refute what a bound would have refuted: slower, for comparison", OptionKind::Switch},
       member<O, synthesis, &S::use_bounds>()},
      {{"use_symmetry", "--no-symmetry", "",
        "Do not search for symmetric schedules first: slower, for comparison", OptionKind::Switch},
       member<O, synthesis, &S::use_symmetry>()},
      {{.name = "solver",
        .option = "--solver",
        .help = "The SAT solver of formulas ({}); proofs of refutations are CaDiCaL's where another writes "
                "none",
        .kind = OptionKind::Choice,
        .choices = kSolverChoices},
       member<O, synthesis, &S::solver>()},
      {{.name = "ipasir",
        .option = "--ipasir",
        .value = "FILE",
        .help = "The shared library of --solver ipasir; its models are checked, and where it refutes a "
                "formula, CaDiCaL's answer counts",
        .kind = OptionKind::Text,
        .asked = false},
       member<O, synthesis, &S::ipasir>()},
      // Conflicts, not seconds: an answer that a limit cut short is then the same on every machine.
      {{.name = "conflicts",
        .option = "--conflicts",
        .value = "N",
        .help = "Give up a question to a solver after N conflicts: a limit that is the same on every machine",
        .most = INT64_MAX,
        .unlimited = -1},
       member<O, synthesis, &S::limits, &SolveLimits::conflicts>()},
      // Chunk counts are searched independently, so jobs change times and not answers.
      {{.name = "jobs",
        .option = "--jobs",
        .value = "J",
        .help = "Search J chunk counts side by side ({})",
        .least = 1,
        .most = 256,
        .asked = false},
       member<O, &O::jobs>()},
      {{"seed", "--seed", "N", "Seed of the solver ({}); the same seed gives the same result",
        OptionKind::Integer, 0, INT_MAX},
       member<O, synthesis, &S::seed>()},
      {{.name = "proofs",
        .option = "--proofs",
        .value = "DIR",
        .help = "Keep formulas and proofs of refutations there (.cnf, .drat), named by the formula's SHA-256",
        .kind = OptionKind::Text,
        .asked = false},
       member<O, synthesis, &S::proof_dir>()},
      // The longest is 1,000 hours; in libraries' specifications the key is "seconds".
      {{.name = "time_limit",
        .option = "--time-limit",
        .value = "T",
        .help = "Stop after T, in seconds or with a unit (30, 0.5, 500ms, 5m, 1h) and keep what was found, "
                "marked unproven",
        .kind = OptionKind::Duration,
        .least = 1,
        .most = 3'600'000'000,
        .unlimited = -1,
        .key = "seconds"},
       member<O, &O::time_limit>()},
  };
  return kRows;
}

// Of a search over several chunk counts; one synthesis has the next.
std::span<const OptionRow<FrontierOptions>> frontier_rows() {
  using O = FrontierOptions;
  static constexpr OptionRow<O> kRows[] = {
      {{.name = "max_chunks",
        .option = "--max-chunks",
        .value = "C",
        .help = "Cut a block into at most C chunks ({})",
        .least = 1,
        .most = kMostChunks,
        .unlimited = kAnyChunks,
        .by_default = "as many as pay"},
       member<O, &O::max_chunks>()},
      {{"min_chunks", "--min-chunks", "C", "Cut a block into at least C chunks ({})", OptionKind::Integer, 1,
        kMostChunks},
       member<O, &O::min_chunks>()},
      {{.name = "effort",
        .option = "--effort",
        .value = "N",
        .help =
            "End after N million steps of work, some 10 ms each: a limit that is the same on every machine, "
            "however busy",
        .most = kMostEffort,
        .unlimited = -1},
       member<O, &O::effort>()},
      // k-synchronous schedules (Cai et al. 2021): rounds <= steps + k.
      {{.name = "k",
        .option = "--k",
        .value = "K",
        .help = "Only schedules with at most steps + K rounds",
        .most = kMostSteps,
        .unlimited = kAnyRounds},
       member<O, &O::extra_rounds>()},
      {{.name = "max_steps",
        .option = "--max-steps",
        .value = "S",
        .help = "Only schedules of at most S steps",
        .least = 1,
        .most = kMostSteps,
        .unlimited = kAnySteps},
       member<O, &O::max_steps>()},
  };
  return kRows;
}

// Of one synthesis: a single chunk count, and limits that make the question a yes or no. -1: not given.
std::span<const OptionRow<SynthesisQuestion>> synthesis_rows() {
  using Q = SynthesisQuestion;
  static constexpr OptionRow<Q> kRows[] = {
      {{"chunks", "--chunks", "C", "Chunks of a block ({})", OptionKind::Integer, 1, kMostChunks},
       member<Q, &Q::chunks>()},
      {{.name = "steps",
        .option = "--steps",
        .value = "S",
        .help = "At most S steps",
        .least = 1,
        .most = kMostSteps,
        .unlimited = -1},
       member<Q, &Q::steps>()},
      {{.name = "rounds",
        .option = "--rounds",
        .value = "R",
        .help = "At most R rounds over all steps",
        .least = 1,
        .most = kMostSteps,
        .unlimited = -1},
       member<Q, &Q::rounds>()},
  };
  return kRows;
}

// Jobs and the folder of proofs change nothing about an answer, so a library stores it without them.
std::vector<OptionRow<FrontierOptions>> question_rows() {
  std::vector<OptionRow<FrontierOptions>> asked;
  for (const auto rows : {search_rows(), frontier_rows()})
    std::ranges::copy_if(rows, std::back_inserter(asked), [](const auto& row) { return row.words.asked; });
  return asked;
}

// Conditions between options, worded with the names that the caller's interface has for them.
void require_consistent(const FrontierOptions& options,
                        const std::function<std::string(const OptionWords&)>& name_of,
                        const std::string& where) {
  const auto name = [&](const auto& rows, std::string_view key) { return name_of(row_of(rows, key).words); };
  if (options.min_chunks > options.max_chunks)
    throw InputError(where + name(frontier_rows(), "min_chunks"),
                     "is larger than " + name(frontier_rows(), "max_chunks"), "exchange them");
}

}  // namespace chorale
