// Options of a search, and what it reports besides a Result (ir/frontier.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/instance.h"
#include "ir/named.h"
#include "ir/option.h"

namespace chorale {

// Versions of VeriPB's format of proofs, which differ in the first line and the last ones.
enum class PbFormat {
  V1_2,  // VeriPB of 2022, which reads 1.0 to 1.2
  V2_0,  // VeriPB 2 and 3, which refuse versions below 2.0
};

enum class Engine {
  Sat,           // our CNF encoding, CaDiCaL
  Smt,           // SCCL's integer encoding, Z3 (Cai et al. 2021)
  SatPartition,  // one CNF for each split of the rounds over the steps (papers: collectives via SAT, 2024)
};

// The SAT solver behind an engine; a new one is a value, its name in `solvers`, and its row in
// solvers/sat_solver.cpp.
enum class Solver {
  Cadical,  // CaDiCaL
  Z3,       // Z3's SAT solver, a plugin
  Ipasir,   // any library with the functions of IPASIR (SynthesisOptions::ipasir)
};

std::span<const Named<Engine>> engines();
inline constexpr Named<Solver> kSolvers[] = {
    {Solver::Cadical, "cadical"}, {Solver::Z3, "z3"}, {Solver::Ipasir, "ipasir"}};
inline constexpr auto kSolverChoices = choices_of(kSolvers);
std::span<const Named<Verdict>> verdicts();
std::string name_of(Engine);

struct SolveLimits {
  std::int64_t conflicts = -1;              // none if negative; the same on every machine
  std::chrono::milliseconds time{-1};       // wall clock, none if negative
  const std::atomic<bool>* stop = nullptr;  // becomes true: give up soon (Ctrl-C, another thread was faster)
};

struct SynthesisOptions {
  Engine engine = Engine::Sat;
  Solver solver = Solver::Cadical;  // of formulas
  std::string ipasir = {};          // the shared library of Solver::Ipasir
  SolveLimits limits = {};          // for each question to a solver
  bool use_bounds = true;           // off: let the solver refute what a bound would have refuted
  bool use_symmetry = true;         // off: no symmetric schedules first
  // Keep formulas (DIMACS) and their proofs (DRAT) here, both named by the SHA-256 of the formula; "": check
  // and forget them. Must be there.
  std::string proof_dir = {};
  int seed = 0;  // of the solvers: another one finds other schedules of the same cost
};

struct Progress {
  std::string doing = {};  // "allgather, 3 chunks, 2 steps, 4 rounds: asking cadical"
  int points = 0;          // found so far
  double seconds = 0;
};

class Machine;

struct FrontierOptions {
  int min_chunks = 1;                        // cut each block into at least this many
  int max_chunks = kAnyChunks;               // and at most this many; by default as many as pay
  int extra_rounds = kAnyRounds;             // only rounds <= steps + this (k-synchronous)
  int max_steps = kAnySteps;                 // only these steps and fewer
  std::chrono::milliseconds time_limit{-1};  // for the whole search, none if negative
  // Work after which the search ends, in millions of links examined and sends scheduled, some 10 ms each;
  // none if negative. On a machine without the slowest links as much is done before.
  std::int64_t effort = -1;
  std::optional<std::int64_t> memory_bytes = {};  // what the process may take; only reported in the result
  // Sound schedules to begin with, of the collective that is asked for or, of an AllReduce, of its parts.
  std::vector<Point> known = {};
  // Returns those to begin with on a machine without the slowest links; null: none.
  std::function<std::vector<Point>(const Machine&)> known_on = {};
  // Time of a point for a block of `block_bytes`, for machines whose links differ: the frontier counts steps
  // as if all links had the worst latency. With it, a point that others dominate in steps and rounds is kept
  // if it is the fastest at some size.
  // It may be infinite once `timing_stop` is true; then it is not known.
  std::function<double(const Point&, double block_bytes)> us = {};
  std::vector<double> sizes =
      {};  // of a block, in bytes, at which the fastest is searched; none: some from 100 to 1e9
  // The search ends sooner than this becomes true (null: it does not): then points that others dominate are
  // timed.
  const std::atomic<bool>* timing_stop = nullptr;
  int jobs = 1;  // chunk counts searched side by side
  // The generator that is left out (EngineQuestion::without), or "solver", "phases", "fewer_links",
  // "slow_links": what it brings is the difference (benchmarks/ablation).
  std::string without = {};
  SynthesisOptions synthesis = {};
  std::function<void(const Progress&)> progress = {};  // called often, from one thread at a time
  // Called once, before the search begins, with a function that returns what has been found so far, at any
  // time and from any thread; a caller that must end the program before the search does asks it.
  std::function<void(std::function<Result()>)> publish = {};
};

// Returns what a search with these options speaks of, as its result and its question in a library have it.
Space searched_space(const FrontierOptions&);

// More chunks per block than any network could fill; beyond, formulas do not fit into memory anyway.
inline constexpr int kMostChunks = 4096;
inline constexpr int kMostSteps = 100'000;
inline constexpr std::int64_t kMostEffort = 1'000'000'000;

// Returns the options of every search, and those that only a search for the whole frontier has. A new option
// is a member and a row.
std::span<const OptionRow<FrontierOptions>> search_rows();
std::span<const OptionRow<FrontierOptions>> frontier_rows();
std::vector<OptionRow<FrontierOptions>> question_rows();  // of both, those on which an answer depends

// Throws InputError where options contradict each other. `name_of` is how the caller names an option; `where`
// comes before it.
void require_consistent(const FrontierOptions&, const std::function<std::string(const OptionWords&)>& name_of,
                        const std::string& where = "");

// One question instead of all. What is not given is taken as low as possible: first the steps, then the
// rounds.
struct SynthesisQuestion {
  int chunks = 1;
  std::optional<int> steps = {};
  std::optional<int> rounds = {};
};

std::span<const OptionRow<SynthesisQuestion>> synthesis_rows();

struct SynthesisResult {
  Verdict verdict = Verdict::Unknown;  // Unsat: shown by the claims, or reported by another engine than ours
  Result result = {};                  // a point although Unknown: the best until the limit
  std::int64_t conflicts = 0;
};

// How hard a check tries to refute from the plain formula (semantics/plain_formula.h) what the search has
// refuted from its own. What takes more is checked by the search's formula alone, and counted apart. Of the
// grid's 62 refutations, 60 take at most 3,252 conflicts and 1.5e6 literals, two take 25,405 conflicts, twice
// the search's.
struct PlainEffort {
  std::int64_t conflicts = 5'000;  // of each refutation; 0: none is tried
  double literals = 2e6;           // of a formula that is built
};

struct CheckReport {
  std::vector<Fault> faults = {};  // empty: all is well
  int schedules = 0;               // verified
  int bounds = 0;                  // certificates accepted
  int times = 0;                   // bounds in time accepted
  int refutations = 0;             // proofs accepted
  int plain = 0;                   // of these: of the plain formula
  int undecided = 0;               // refutations not re-done within the limits
};

}  // namespace chorale
